--TEST--
Functions whose effect would outlive the request and that PHP-FPM lacks are not there
--FILE--
<?php
var_dump(function_exists('chroot'), function_exists('dl'));
?>
--EXPECT--
bool(false)
bool(false)
