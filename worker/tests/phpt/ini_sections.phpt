--TEST--
[HOST=] and [PATH=] sections of php.ini
--FILE php.ini--
date.timezone=UTC
[HOST=example.test]
memory_limit=99M
[PATH={ROOT}/sub]
memory_limit=88M
--FILE sub/test.php--
<?php
echo ini_get('memory_limit');
--FILE--
<?php
echo ini_get('memory_limit');
--HOWDAH--
arg -c
arg {ROOT}/php.ini
arg -d
arg memory_limit=44M
run
var SERVER_NAME Example.TEST
run
var SERVER_NAME localhost
var SCRIPT_FILENAME {ROOT}/sub/test.php
run
--EXPECT--
44M
99M
88M
