--TEST--
Names and values with odd bytes
--HOWDAH--
var EMPTY_VALUE 
var NUL a%00b
var 123 number
run
--FILE--
<?php
echo json_encode($_SERVER['NUL']), "\n";
var_dump($_SERVER[123], $_SERVER['EMPTY_VALUE']);
--EXPECT--
"a\u0000b"
string(6) "number"
string(0) ""
