--TEST--
A default filter changes $_SERVER, the raw value stays with filter_input()
--INI--
filter.default=special_chars
error_reporting=0
--VARS--
TAG=<b>
--FILE--
<?php
var_dump($_SERVER['TAG'], filter_input(INPUT_SERVER, 'TAG', FILTER_UNSAFE_RAW));
--EXPECT--
string(11) "&#60;b&#62;"
string(3) "<b>"
