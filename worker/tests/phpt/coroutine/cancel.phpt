--TEST--
Coroutines: a request whose time is over is ended while it waits, computes or writes; the worker continues
--FILE--
<?php
while (frankenphp_handle_request(static function () {
    register_shutdown_function(static function () { error_log("shutdown of {$_GET['how']}"); });
    try {
        echo 'begin ';
        flush(); // where it may be as well when its time is over
        switch ($_GET['how']) {
            case 'wait': sleep(3600);
            case 'compute': while (true) {}
            case 'fiber': (new Fiber(static function () { sleep(3600); }))->start();
            case 'stream':
                [$ours, $theirs] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
                fgets($ours);
            case 'write': while (true) { echo str_repeat('x', 1000); }
        }
    } finally {
        if ($_GET['how'] !== 'none') {
            error_log("finally of {$_GET['how']}");
        }
    }
    echo 'end';
})) {}
--INI--
log_errors=1
output_buffering=0
--HOWDAH--
show exit log
option concurrency 8
worker {ROOT}/test.php
var QUERY_STRING how=wait
push wait
await-body wait begin
time-out wait
await wait
var QUERY_STRING how=compute
push compute
await-body compute begin
time-out compute
await compute
var QUERY_STRING how=fiber
push fiber
await-body fiber begin
time-out fiber
await fiber
var QUERY_STRING how=stream
push stream
await-body stream begin
time-out stream
await stream
var QUERY_STRING how=write
push write
await-body write begin
stall write
time-out write
wait-log shutdown of write
var QUERY_STRING how=none
run
stop
--EXPECTREGEX--
wait: begin 
compute: begin 
fiber: begin 
stream: begin 
(\[log w \d+\] PHP backtrace of the request:\n(#\d+ [^\n]*\n)+)+\[log n 1\] finally of wait
\[log n 1\] shutdown of wait
(\[log w \d+\] PHP backtrace of the request:\n(#\d+ [^\n]*\n)+)+\[log n 2\] finally of compute
\[log n 2\] shutdown of compute
(\[log w \d+\] PHP backtrace of the request:\n(#\d+ [^\n]*\n)+)+\[log n 3\] finally of fiber
\[log n 3\] shutdown of fiber
(\[log w \d+\] PHP backtrace of the request:\n(#\d+ [^\n]*\n)+)+\[log n 4\] finally of stream
\[log n 4\] shutdown of stream
(\[log w \d+\] PHP backtrace of the request:\n(#\d+ [^\n]*\n)+)+\[log n 5\] finally of write
\[log n 5\] shutdown of write
begin end
\[log n 6\] shutdown of none
\[worker exited with status 0\]
