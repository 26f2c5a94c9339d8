--TEST--
Worker mode: the backtrace of a signal has the generators that delegate to the one that runs
--SKIPIF--
<?php
if (!extension_loaded('posix')) {
    echo 'skip posix is not loaded';
}
--FILE--
<?php
function inner(): Generator
{
    yield 1;
    posix_kill(posix_getpid(), 39); // SIGRTMIN + 5
}

function middle(): Generator
{
    yield 0;
    yield from inner();
}

function outer(): Generator
{
    yield from middle();
}

while (frankenphp_handle_request(function () {
    foreach (outer() as $number) {
        echo $number;
    }
})) {
}
--HOWDAH--
worker {ROOT}/test.php
show log
run
--EXPECTF--
01
[log w 1] PHP backtrace of the request:
#0 posix_kill()
#1 inner() {ROOT}/test.php:5
#2 middle() {ROOT}/test.php:11
#3 outer() {ROOT}/test.php:16
#4 {closure%S}() {ROOT}/test.php:%d
#5 frankenphp_handle_request()
#6 {main} {ROOT}/test.php:19
