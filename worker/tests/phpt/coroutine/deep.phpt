--TEST--
Coroutines: what is nested as deeply as PHP allows by default fits onto the stack, as do graphs of thousands of objects; what does not ends the worker with a word
--SKIPIF--
<?php
if (PHP_VERSION_ID >= 80300) {
    echo 'skip the engine refuses to go deeper';
}
--FILE--
<?php
while (frankenphp_handle_request(static function () {
    $text = str_repeat('[', 511) . str_repeat(']', 511);
    $depth = (int) $_GET['depth'];
    $value = [];
    for ($i = 0; $i < $depth; $i++) {
        $value = [$value];
    }
    echo json_encode(json_decode($text)) === $text ? 'same' : 'other', ' ', strlen(serialize($value)) > $depth ? 'deep' : '';
})) {}
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
var QUERY_STRING depth=50000
push b
await b
wait-exit
--EXPECTF--
a: same deep
objects: same deep
b: [worker died; started=1]
[log e 3] PHP used up the request's stack of 8192 KiB, by calls that are nested too deeply: the worker dies. More of it: stack_size
[worker killed by signal 11]
