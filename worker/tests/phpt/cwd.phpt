--TEST--
A script runs in its own directory, whatever the one before did; also behind a switched link
--FILE--
<?php
echo getcwd(), ' ', file_exists('sub') ? 'here' : 'not here', "\n";
chdir('/');
--FILE sub/other.php--
<?php
echo getcwd(), "\n";
--HOWDAH--
run
run
var SCRIPT_FILENAME {ROOT}/sub/other.php
run
run
var SCRIPT_FILENAME {ROOT}/test.php
run
--EXPECT--
{ROOT} here

{ROOT} here

{ROOT}/sub

{ROOT}/sub

{ROOT} here
