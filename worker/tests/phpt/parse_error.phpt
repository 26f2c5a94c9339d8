--TEST--
A script that does not compile
--INI--
display_errors=0
--FILE--
<?php
this is no PHP;
--EXPECTHEADERS--
Status: 500 Internal Server Error
--EXPECT--
