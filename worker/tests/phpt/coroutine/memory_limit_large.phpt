--TEST--
Coroutines: a request that exceeds its memory_limit by a large block fails alone
--SKIPIF--
<?php
if (getenv('USE_ZEND_ALLOC') === '0') {
    echo 'skip no memory limit without PHP\'s allocator';
}
--FILE--
<?php
$gate = new stdClass();
while (frankenphp_handle_request(static function () use ($gate) {
    if ($_GET['do'] === 'grow') {
        register_shutdown_function(static fn () => $gate->open = true);
        $text = str_repeat('x', 30_000_000);
        $text .= $text;
        $text .= $text;
        return;
    }
    echo 'waits; ';
    flush();
    while (!isset($gate->open)) {
        usleep(100);
    }
    echo 'goes on';
})) {}
--INI--
output_buffering=0
memory_limit=64M
--HOWDAH--
show exit
option concurrency 8
worker {ROOT}/test.php
var QUERY_STRING do=wait
push neighbour
await-body neighbour waits
var QUERY_STRING do=grow
push grow
await grow
await neighbour
wait-exit
--EXPECTF--
grow: 
Fatal error: Allowed memory size of 67108864 bytes exhausted (tried to allocate %d bytes) in {ROOT}/test.php on line %d

neighbour: waits; goes on
[worker exited with status 255]
