--TEST--
Coroutines: the signal that requests a backtrace logs one of each request in flight
--SKIPIF--
<?php
if (!extension_loaded('posix')) {
    echo 'skip posix is not loaded';
}
--FILE--
<?php
const BACKTRACE = 39; // SIGRTMIN + 5
$gate = new stdClass();

function deep(stdClass $gate): void
{
    while (!isset($gate->open)) {
        usleep(1000);
    }
}

while (frankenphp_handle_request(static function () use ($gate) {
    echo 'begin ';
    flush();
    if ($_GET['n'] === 'fiber') {
        (new Fiber('deep'))->start($gate);
    } elseif ($_GET['n'] === 'deep') {
        deep($gate);
    } else {
        array_map(static fn () => posix_kill(posix_getpid(), BACKTRACE), [1]);
        $gate->open = true;
    }
    echo 'end';
})) {}
--INI--
output_buffering=0
--HOWDAH--
show exit log state
option concurrency 4
worker {ROOT}/test.php
var QUERY_STRING n=deep
push deep
await-body deep begin
var QUERY_STRING n=fiber
push fiber
await-body fiber begin
var QUERY_STRING n=signal
push signal
await signal
await deep
await fiber
stop
--EXPECTF--
signal: begin end
deep: begin end
fiber: begin end
[state] ready
[log w 1] PHP backtrace of the request:
#0 usleep()
#1 deep() {ROOT}/test.php:8
#2 {closure%S}() {ROOT}/test.php:18
[log w 2] PHP backtrace of the request:
#0 usleep()
#1 deep() {ROOT}/test.php:8
#2 Fiber::start()
#3 {closure%S}() {ROOT}/test.php:16
[log w 3] PHP backtrace of the request:
#0 posix_kill()
#1 {closure%S}() {ROOT}/test.php:20
#2 array_map()
#3 {closure%S}() {ROOT}/test.php:20
[state] traced
[worker exited with status 0]
