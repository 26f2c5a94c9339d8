--TEST--
Coroutines: where PHP does not behave as they rely on, workers run one request at a time, and the log says why
--SKIPIF--
<?php
if (PHP_VERSION_ID >= 80500) {
    echo 'skip classes cannot be disabled';
}
--FILE--
<?php
while (frankenphp_handle_request(static function () {
    echo $_GET['n'];
    usleep(1000);
})) {}
--INI--
disable_classes=Fiber
--HOWDAH--
show exit log
option concurrency 4
worker {ROOT}/test.php
var QUERY_STRING n=a
push a
var QUERY_STRING n=b
push b
await all
var QUERY_STRING n=c
run
stop
--EXPECTF--
[log w 0] PHP %s cannot run several requests at a time here, so each worker of the pool test runs one: a Fiber that waits does not go on
a: a
b: b
c
[worker exited with status 0]
