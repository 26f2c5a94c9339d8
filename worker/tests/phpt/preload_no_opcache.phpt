--TEST--
Nothing is preloaded without OPcache, and PHP starts all the same
--INI--
opcache.enable=0
--FILE plain.php--
<?php
class Plain {}
--FILE--
<?php
echo json_encode(class_exists('Plain', false));
--HOWDAH--
preload auto {ROOT}/plain.php
run
--EXPECT--
[preload: done 0, foreign 0, 0 classes, 0 functions, memory none: OPcache is off, or keeps nothing in memory (opcache.file_cache_only)]
plain.php: nothing
false
