--TEST--
A fatal error: 500 without display_errors, logged, shutdown functions run, the worker continues
--INI--
display_errors=0
log_errors=1
--FILE--
<?php
if (isset($_GET['ok'])) {
    exit('alive');
}
register_shutdown_function(function () { echo 'shutdown: ', error_get_last()['message']; });
undefined_function();
--HOWDAH--
show headers end log
run
var QUERY_STRING ok=1
run
--EXPECTF--
Status: 500 Internal Server Error
Content-type: text/html; charset=UTF-8

shutdown: Uncaught Error: Call to undefined function undefined_function() in {ROOT}/test.php:6
Stack trace:
#0 {main}
  thrown
[end exit=1 status=255]
[log e 1] PHP Fatal error:  Uncaught Error: Call to undefined function undefined_function() in {ROOT}/test.php:6
Stack trace:
#0 {main}
  thrown in {ROOT}/test.php on line 6
--
Status: 200
Content-type: text/html; charset=UTF-8

alive
[end exit=0 status=0]
