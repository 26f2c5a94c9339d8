--TEST--
A fatal error with display_errors: shown, 200 as under PHP-FPM
--INI--
error_reporting=8191
--FILE--
<?php
trigger_error('broken', E_USER_ERROR); // deprecated since 8.4, hence the setting
--EXPECTHEADERS--
Status: 200
--EXPECTF--
Fatal error: broken in {ROOT}/test.php on line 2
