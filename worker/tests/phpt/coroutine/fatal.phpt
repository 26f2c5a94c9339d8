--TEST--
Coroutines: after a fatal error of one request the others run to their end, then the worker exits
--SKIPIF--
<?php
if (getenv('USE_ZEND_ALLOC') === '0') {
    echo 'skip no memory limit without PHP\'s allocator';
}
--FILE--
<?php
register_shutdown_function(static function () { if ($e = error_get_last()) { http_response_code(500); echo '[boot saw: ', substr($e['message'], 0, 24), '] '; } });
$gate = new stdClass();
while (frankenphp_handle_request(static function () use ($gate) {
    register_shutdown_function(static function () use ($gate) { $gate->open = true; echo '[request shutdown]'; });
    $unset = new class { public function __destruct() { echo '~', $_GET['how'] ?? '', ' '; } };
    echo 'begin ';
    switch ($_GET['how']) {
        case 'user': usleep(1000); trigger_error('by hand', E_USER_ERROR);
        case 'memory': usleep(1000); $x = str_repeat('x', 400 << 20);
        case 'time': set_time_limit(1); while (true) {} // interrupted
        case 'compile': usleep(1000); eval('class A extends A2 {} interface A2 {}');
    }
    flush();
    while (!isset($gate->open) && $_GET['how'] === 'neighbour') {
        usleep(1000);
    }
    $circle = new stdClass();
    $circle->circle = $circle;
    unset($circle);
    echo gc_collect_cycles() > 0 ? 'end ' : 'no collector ';
})) {}
--INI--
output_buffering=0
display_errors=0
memory_limit=64M
--HOWDAH--
show exit end state
option concurrency 4
worker {ROOT}/test.php
var QUERY_STRING how=neighbour
push n1
await-body n1 begin
var QUERY_STRING how=user
push user
await user
await n1
wait-exit
respawn
var QUERY_STRING how=neighbour
push n2
await-body n2 begin
var QUERY_STRING how=memory
push memory
await memory
await n2
wait-exit
respawn
var QUERY_STRING how=neighbour
push n3
await-body n3 begin
var QUERY_STRING how=time
push time
await time
await n3
wait-exit
respawn
var QUERY_STRING how=neighbour
push n4
await-body n4 begin
var QUERY_STRING how=compile
push compile
await compile
await n4
wait-exit
respawn
var QUERY_STRING how=none
run
stop
--EXPECTF--
user: begin [boot saw: by hand] [request shutdown]
[end exit=1 status=255]
n1: begin end ~neighbour [request shutdown]
[end exit=0 status=0]
[state] ready
[state] retiring
[worker exited with status 255]
memory: %S[boot saw: Allowed memory size of 6] [request shutdown]
[end exit=1 status=255]
n2: begin end ~neighbour [request shutdown]
[end exit=0 status=0]
[state] ready
[state] retiring
[worker exited with status 255]
time: begin ~time [boot saw: Maximum execution time o] [request shutdown]
[end exit=1 status=255]
n3: begin end ~neighbour [request shutdown]
[end exit=0 status=0]
[state] ready
[state] retiring
[worker exited with status 255]
compile: begin [boot saw: %s] [request shutdown]
[end exit=1 status=255]
n4: begin end ~neighbour [request shutdown]
[end exit=0 status=0]
[state] ready
[state] retiring
[worker exited with status 255]
begin end ~none [request shutdown]
[end exit=0 status=0]
[state] ready
[worker exited with status 0]
