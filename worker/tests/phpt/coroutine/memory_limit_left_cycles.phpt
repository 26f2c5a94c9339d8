--TEST--
Coroutines: cycles that ended requests have left are collected before their process is replaced for its memory
--SKIPIF--
<?php
if (getenv('USE_ZEND_ALLOC') === '0') {
    echo 'skip no memory limit without PHP\'s allocator';
}
--FILE--
<?php
while (frankenphp_handle_request(static function () {
    $cycle = new stdClass();
    $cycle->self = $cycle;
    $cycle->data = str_repeat('x', 10 << 20);
    echo $_GET['n'];
})) {}
--INI--
memory_limit=32M
--HOWDAH--
show exit log state
option concurrency 4
worker {ROOT}/test.php
var QUERY_STRING n=1
run
var QUERY_STRING n=2
run
var QUERY_STRING n=3
run
var QUERY_STRING n=4
run
var QUERY_STRING n=5
run
var QUERY_STRING n=6
run
var QUERY_STRING n=7
run
var QUERY_STRING n=8
run
stop
--EXPECT--
1
[state] ready
2
3
4
5
6
7
8
[worker exited with status 0]
