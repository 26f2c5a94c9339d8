--TEST--
Coroutines: with `concurrency_fallback`, on an unsuitable PHP, workers run one request at a time, and the log has the reason
--SKIPIF--
<?php
if (PHP_VERSION_ID >= 80500) {
    echo 'skip classes cannot be disabled';
}
--FILE--
<?php
function handle(): void
{
    echo $_GET['n'];
    usleep(1000);
}

while (frankenphp_handle_request('handle')) {}
--INI--
disable_classes=Closure
--HOWDAH--
show exit log state
option concurrency 4
option flags 512
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
[log w 0] PHP %s cannot run several requests at a time here, so each worker of the pool test runs one: calls that wait do not let others run (%s)
a: a
b: b
c
[state] sequential calls that wait do not let others run (%s)
[state] ready
[worker exited with status 0]
