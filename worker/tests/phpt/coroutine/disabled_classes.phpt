--TEST--
Coroutines: a pool starts although disable_classes names a class
--FILE--
<?php
while (frankenphp_handle_request(static function () {
    usleep(1000);
    echo class_exists('ArrayObject'), ' ', count(new ArrayIterator([1, 2]));
})) {
}
--INI--
disable_classes=ArrayObject,SplObjectStorage
--HOWDAH--
show exit
option concurrency 2
worker {ROOT}/test.php
push a
push b
await all
stop
--EXPECT--
a: 1 2
b: 1 2
[worker exited with status 0]
