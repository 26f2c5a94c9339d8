--TEST--
An opcache.preload of php.ini is reported, and stays
--SKIPIF--
<?php
if (!extension_loaded('Zend OPcache')) {
    echo 'skip no OPcache';
}
--INI--
opcache.preload={ROOT}/own.php
opcache.preload_user=root
opcache.file_update_protection=0
--FILE own.php--
<?php
class Own {}
--FILE other.php--
<?php
class Other {}
--FILE--
<?php
echo json_encode([class_exists('Own', false), class_exists('Other', false)]);
--HOWDAH--
preload auto {ROOT}/other.php
run
--EXPECT--
[preload: done 0, foreign 1, 1 classes, 0 functions, memory some]
other.php: nothing
[true,false]
