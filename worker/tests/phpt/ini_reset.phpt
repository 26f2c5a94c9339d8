--TEST--
Settings of a script do not apply to the next request
--FILE--
<?php
echo ini_get('precision'), ' ', date_default_timezone_get(), ' ', setlocale(LC_ALL, 0), ' ', getenv('OWN'), ' ', mb_internal_encoding(), "\n";
ini_set('precision', 3);
date_default_timezone_set('Asia/Tokyo');
putenv('OWN=1');
mb_internal_encoding('ISO-8859-1');
set_error_handler(fn () => true);
umask(0);
--HOWDAH--
run
run
--EXPECTF--
14 UTC %s  UTF-8

14 UTC %s  UTF-8
