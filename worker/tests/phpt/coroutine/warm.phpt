--TEST--
Coroutines: warm paths, callbacks after the fork and a boot in each worker come before the first request
--FILE--
<?php
$seen = [];
howdah_after_fork(static function () use (&$seen) { $seen[] = 'hook'; usleep(1000); });
while (frankenphp_handle_request(static function () use (&$seen) {
    usleep(1000);
    $seen[] = $_SERVER['REQUEST_URI'];
    echo implode(' ', $seen);
})) {}
--HOWDAH--
show exit state
option concurrency 4
option flags 1
warm /warm
worker {ROOT}/test.php
var REQUEST_URI /one
push one
await one
var REQUEST_URI /two
push two
await two
stop
--EXPECT--
one: hook /warm /one
two: hook /warm /one /two
[state] ready
[worker exited with status 0]
