--TEST--
Coroutines: requests make, clone and free objects of an extension that is not known, one at a time
--SKIPIF--
<?php
if (!extension_loaded('gnupg')) {
    echo 'skip no gnupg';
}
--FILE--
<?php
final class Keys extends gnupg
{
}

while (frankenphp_handle_request(function () {
    $key = new Keys();
    usleep(1000);
    $other = new gnupg();
    echo get_class($key), ' ', get_class($other);
})) {
}
--HOWDAH--
worker {ROOT}/test.php
option concurrency 4
push a
push b
push c
push d
await a
await b
await c
await d
--EXPECT--
a: Keys gnupg
b: Keys gnupg
c: Keys gnupg
d: Keys gnupg
