--TEST--
Coroutines: a handler of pcntl_signal() runs in the request that set it, and goes with it
--SKIPIF--
<?php
if (!extension_loaded('pcntl') || !extension_loaded('posix')) {
    echo 'skip pcntl or posix is not loaded';
}
--FILE--
<?php
pcntl_async_signals(true);
$place = new stdClass();
$place->here = 0;
while (frankenphp_handle_request(static function () use ($place) {
    $n = (int) $_GET['n'];
    $default = pcntl_signal_get_handler(SIGUSR1) === SIG_DFL;
    if ($n < 4) {
        pcntl_signal(SIGUSR1, static function (int $number) use ($n) {
            echo "handler of $n in $_GET[n], ";
        });
    }
    $place->here++;
    while ($place->here % 4) {
        usleep(1000); // until all are here
    }
    if ($n === 4) {
        posix_kill(getmypid(), SIGUSR1);
    }
    usleep(5000);
    echo $default && (pcntl_signal_get_handler(SIGUSR1) === SIG_DFL) === ($n === 4) ? 'right' : 'wrong';
})) {
}
--HOWDAH--
worker {ROOT}/test.php
option concurrency 4
var QUERY_STRING n=1
push a1
var QUERY_STRING n=2
push a2
var QUERY_STRING n=3
push a3
var QUERY_STRING n=4
push a4
await a1
await a2
await a3
await a4
var QUERY_STRING n=1
push b1
var QUERY_STRING n=2
push b2
var QUERY_STRING n=3
push b3
var QUERY_STRING n=4
push b4
await b1
await b2
await b3
await b4
stop
--EXPECT--
a1: handler of 1 in 1, right
a2: handler of 2 in 2, right
a3: handler of 3 in 3, right
a4: right
b1: handler of 1 in 1, right
b2: handler of 2 in 2, right
b3: handler of 3 in 3, right
b4: right
