--TEST--
Coroutines: a fatal error of one request leaves the others their memory_limit
--SKIPIF--
<?php
if (getenv('USE_ZEND_ALLOC') === '0') {
    echo 'skip no memory limit without PHP\'s allocator';
}
--FILE--
<?php
$gate = new stdClass();
while (frankenphp_handle_request(static function () use ($gate) {
    if ($_GET['do'] === 'fail') {
        register_shutdown_function(static function () use ($gate) {
            $gate->open = true;
            while (!isset($gate->taken)) {
                usleep(1000);
            }
            echo 'shutdown';
        });
        trigger_error('wanted', E_USER_ERROR); // deprecated since 8.4, hence the setting
    }
    $held = [str_repeat('x', 10 << 20)];
    echo 'holds ';
    flush();
    while (!isset($gate->open)) {
        usleep(1000);
    }
    if ($_GET['do'] === 'take') {
        register_shutdown_function(static fn () => $gate->taken = true);
        $held[] = str_repeat('x', 35 << 20);
        usleep(1000);
    }
    echo array_sum(array_map(strlen(...), $held)) >> 20;
})) {}
--INI--
error_reporting=8191
output_buffering=0
memory_limit=48M
--HOWDAH--
show exit
option concurrency 4
worker {ROOT}/test.php
var QUERY_STRING do=take
push take
await-body take holds
var QUERY_STRING do=hold
push hold
await-body hold holds
var QUERY_STRING do=fail
push fail
await take
await hold
await fail
wait-exit
--EXPECTF--
take: holds 45
hold: holds 10
fail: 
Fatal error: wanted in {ROOT}/test.php on line %d
shutdown
[worker exited with status 255]
