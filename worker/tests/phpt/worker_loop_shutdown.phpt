--TEST--
Worker mode: the boot's shutdown functions run when the script leaves its loop by itself, in whatever way
--FILE--
<?php
register_shutdown_function(static function () {
    error_log('of the boot');
    register_shutdown_function(static fn () => error_log('of a shutdown function'));
});
$ways = ['break', 'exit', 'exception', 'error'];
$handler = static function () {
    register_shutdown_function(static fn () => print ', of the request');
    echo $_SERVER['REQUEST_URI'];
    return $_SERVER['REQUEST_URI'];
};
$way = '';
while (frankenphp_handle_request(static function () use ($handler, &$way) {
    $way = $handler();
})) {
    register_shutdown_function(static fn () => error_log('of the loop'));
    if ($way === 'break') {
        break;
    } elseif ($way === 'exit') {
        exit(3);
    } elseif ($way === 'exception') {
        throw new Exception('thrown');
    } elseif ($way === 'error') {
        eval('class Twice {} class Twice {}');
    }
}
--INI--
log_errors=1
error_log=
html_errors=0
display_errors=0
--HOWDAH--
show exit log
worker {ROOT}/test.php
var REQUEST_URI on
run
var REQUEST_URI break
run
wait-exit
respawn
var REQUEST_URI exit
run
wait-exit
respawn
var REQUEST_URI exception
run
wait-exit
respawn
var REQUEST_URI error
run
wait-exit
respawn
var REQUEST_URI on
run
stop
--EXPECTF--
on, of the request
break, of the request
[log n 2] of the boot
[log n 2] of the loop
[log n 2] of a shutdown function
[worker exited with status 0]
exit, of the request
[log n 3] of the boot
[log n 3] of the loop
[log n 3] of a shutdown function
[worker exited with status 3]
exception, of the request
[log e 4] PHP Fatal error:  Uncaught Exception: thrown in %s/test.php:22
Stack trace:
#0 {main}
  thrown in %s/test.php on line 22
[log n 4] of the boot
[log n 4] of the loop
[log n 4] of a shutdown function
[worker exited with status 255]
error, of the request
[log e 5] PHP Fatal error:  Cannot %s class Twice%s in %s/test.php(24) : %s code on line 1
[log n 5] of the boot
[log n 5] of the loop
[log n 5] of a shutdown function
[worker exited with status 255]
on, of the request
[log n 0] of the boot
[log n 0] of a shutdown function
[worker exited with status 0]
