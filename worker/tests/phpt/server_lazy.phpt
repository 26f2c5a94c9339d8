--TEST--
$_SERVER without auto_globals_jit, and by a variable name
--INI--
auto_globals_jit=0
--FILE--
<?php
$name = '_SERVER';
echo $$name['REQUEST_METHOD'], ' ', count($GLOBALS['_SERVER']) > 10 ? 'full' : 'empty';
--EXPECT--
GET full
