--TEST--
A fatal error with display_errors: shown, 200 as under PHP-FPM
--FILE--
<?php
trigger_error('broken', E_USER_ERROR);
--EXPECTHEADERS--
Status: 200
--EXPECTF--
Fatal error: broken in {ROOT}/test.php on line 2
