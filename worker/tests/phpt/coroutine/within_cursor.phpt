--TEST--
Coroutines: loops of several requests over one SimpleXMLElement, ArrayIterator or list each see all of it
--EXTENSIONS--
simplexml
--FILE--
<?php
$xml = simplexml_load_string('<r><i>a</i><i>b</i><i>c</i><i>d</i></r>');
$items = $xml->i;
$tree = new SimpleXMLIterator('<r><x><i>a</i></x><x><i>b</i></x></r>');
$array = new ArrayIterator(['a', 'b', 'c', 'd']);
$nested = new RecursiveArrayIterator([['a'], ['b', ['c']], 'd']);
$list = new SplDoublyLinkedList();
foreach (['a', 'b', 'c', 'd'] as $value) {
    $list[] = $value;
}
$pause = fn () => usleep(500 * (int) $_GET['n']);
$loop = function (iterable $values) use ($pause): string {
    $found = '';
    foreach ($values as $key => $value) {
        $pause();
        $found .= "$key$value ";
    }
    return trim($found);
};
$steps = function (Iterator $values) use ($pause): string {
    $found = '';
    for ($values->rewind(); $values->valid(); $values->next()) {
        $pause();
        $found .= $values->key() . $values->current() . ' ';
    }
    return trim($found);
};
while (frankenphp_handle_request(function () use ($xml, $items, $tree, $array, $nested, $list, $loop, $steps) {
    echo implode(', ', [
        $loop($xml), $loop($items), $steps($xml), $loop(new RecursiveIteratorIterator($tree)),
        $loop($array), $steps($array), $loop(new LimitIterator($array, 1, 2)),
        $loop(new RecursiveIteratorIterator($nested)),
        $loop($list), $steps($list),
    ]);
})) {
}
--HOWDAH--
show exit
option concurrency 4
worker {ROOT}/test.php
var QUERY_STRING n=1
push r1
var QUERY_STRING n=2
push r2
var QUERY_STRING n=3
push r3
await all
stop
--EXPECT--
r1: ia ib ic id, ia ib ic id, ia ib ic id, ia ib, 0a 1b 2c 3d, 0a 1b 2c 3d, 1b 2c, 0a 0b 0c 2d, 0a 1b 2c 3d, 0a 1b 2c 3d
r2: ia ib ic id, ia ib ic id, ia ib ic id, ia ib, 0a 1b 2c 3d, 0a 1b 2c 3d, 1b 2c, 0a 0b 0c 2d, 0a 1b 2c 3d, 0a 1b 2c 3d
r3: ia ib ic id, ia ib ic id, ia ib ic id, ia ib, 0a 1b 2c 3d, 0a 1b 2c 3d, 1b 2c, 0a 0b 0c 2d, 0a 1b 2c 3d, 0a 1b 2c 3d
[worker exited with status 0]
