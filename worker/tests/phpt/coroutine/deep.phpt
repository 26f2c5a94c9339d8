--TEST--
Coroutines: code nested as deeply as PHP allows by default fits onto the stack, as do graphs of thousands of objects; deeper code ends its request
--SKIPIF--
<?php
if (PHP_VERSION_ID >= 80300) {
    echo 'skip the engine refuses to go deeper';
} elseif (getenv('USE_ZEND_ALLOC') === '0') {
    echo 'skip the reserve of a stack is not there with a sanitizer';
}
--FILE--
<?php
while (frankenphp_handle_request(static function () {
    if ($_GET['depth'] === 'neighbour') {
        echo 'begins, ';
        flush();
        usleep(300_000);
        echo 'ends';
        return;
    }
    if ($_GET['depth'] === 'map') {
        $map = static function () use (&$map) {
            return array_map($map, [1]);
        };
        $map();
    }
    $text = str_repeat('[', 511) . str_repeat(']', 511);
    $depth = (int) $_GET['depth'];
    $value = [];
    for ($i = 0; $i < $depth; $i++) {
        $value = [$value];
    }
    echo json_encode(json_decode($text)) === $text ? 'same' : 'other', ' ', strlen(serialize($value)) > $depth ? 'deep' : '';
})) {}
--INI--
output_buffering=0
--HOWDAH--
show exit log
option concurrency 2
worker {ROOT}/test.php
var QUERY_STRING depth=511
push a
await a
var QUERY_STRING depth=4000
push objects
await objects
var QUERY_STRING depth=neighbour
push neighbour1
await-body neighbour1 begins
var QUERY_STRING depth=50000
push serialize
await serialize
await neighbour1
wait-exit
respawn
var QUERY_STRING depth=neighbour
push neighbour2
await-body neighbour2 begins
var QUERY_STRING depth=map
push map
await map
await neighbour2
wait-exit
--EXPECTF--
a: same deep
objects: same deep
serialize: same 
Fatal error: Maximum call stack size of 8192 KiB (stack_size) reached. Infinite recursion? in %s on line %d

neighbour1: begins, ends
[worker exited with status 255]
map: 
Fatal error: Maximum call stack size of 8192 KiB (stack_size) reached. Infinite recursion? in %s on line %d

neighbour2: begins, ends
[worker exited with status 255]
