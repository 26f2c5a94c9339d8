--TEST--
A body above post_max_size: a warning and an empty $_POST
--INI--
post_max_size=4
display_startup_errors=1
--POST--
a=123456789
--FILE--
<?php
var_dump($_POST);
--EXPECTF--
Warning: PHP Request Startup: POST Content-Length of 11 bytes exceeds the limit of 4 bytes in Unknown on line 0
array(0) {
}
