--TEST--
A script's output, twice in one worker
--FILE--
<?php
echo PHP_SAPI, ' ', php_sapi_name(), ' ', isset($GLOBALS['seen']) ? 'leaked' : 'fresh';
$seen = true;
--HOWDAH--
run
run
--EXPECT--
howdah howdah fresh
howdah howdah fresh
