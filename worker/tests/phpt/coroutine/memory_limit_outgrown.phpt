--TEST--
Coroutines: a process in which more than memory_limit belongs to no request finishes its requests and is replaced
--SKIPIF--
<?php
if (getenv('USE_ZEND_ALLOC') === '0') {
    echo 'skip no memory limit without PHP\'s allocator';
}
--FILE--
<?php
$kept = new ArrayObject();
while (frankenphp_handle_request(static function () use ($kept) {
    if ($_GET['do'] === 'wait') {
        while (count($kept) < 4) {
            usleep(1000);
        }
        usleep(20000);
        echo 'waited';
        return;
    }
    $kept[] = str_repeat('x', 10 << 20);
    echo count($kept);
})) {}
--INI--
memory_limit=32M
--HOWDAH--
show exit log state
option concurrency 4
worker {ROOT}/test.php
var QUERY_STRING do=wait
push wait
var QUERY_STRING do=keep
push first
await first
push second
await second
push third
await third
push fourth
await fourth
await wait
wait-exit
--EXPECT--
first: 1
second: 2
third: 3
fourth: 4
wait: waited
[state] ready
[log n 0] PHP's memory that belongs to no request in flight exceeds memory_limit: this process finishes its requests and is replaced
[state] retiring
[worker exited with status 0]
