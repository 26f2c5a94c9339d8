--TEST--
.user.ini from the document root down, cached for user_ini.cache_ttl, without effect outside
--INI--
user_ini.cache_ttl=300
--FILE .user.ini--
memory_limit=77M
date.timezone=Europe/Paris
--FILE sub/.user.ini--
memory_limit=66M
--FILE sub/test.php--
<?php
echo ini_get('memory_limit'), ' ', ini_get('date.timezone'), ' ', ini_get('precision');
--FILE changed.ini--
memory_limit=55M
--FILE--
<?php
echo ini_get('memory_limit'), ' ', ini_get('date.timezone');
--HOWDAH--
run
var SCRIPT_FILENAME {ROOT}/sub/test.php
run
touch {ROOT}/sub/.user.ini {ROOT}/changed.ini
run
var DOCUMENT_ROOT {ROOT}/sub
run
--EXPECT--
77M Europe/Paris
66M Europe/Paris 14
66M Europe/Paris 14
55M UTC 14
