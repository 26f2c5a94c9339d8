--TEST--
Coroutines: code that OPcache's JIT has compiled does not continue after a call whose wait was cancelled
--SKIPIF--
<?php
if (!extension_loaded('Zend OPcache') || php_uname('m') !== 'x86_64' && php_uname('m') !== 'aarch64') {
    echo 'skip no JIT';
}
--FILE--
<?php
function wait_for(mixed $stream): mixed {
    $text = stream_get_contents($stream);
    file_put_contents(__DIR__ . '/went_on', var_export($text, true), FILE_APPEND);
    return $text;
}
while (frankenphp_handle_request(static function () {
    if ($_GET['how'] === 'look') {
        echo opcache_get_status(false)['jit']['on'] ? 'on, ' : 'off, ';
        echo is_file(__DIR__ . '/went_on') ? file_get_contents(__DIR__ . '/went_on') : 'ended';
        return;
    }
    [$ours, $theirs] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
    error_log('begin');
    try {
        wait_for($ours);
        echo 'never';
    } finally {
        error_log('finally');
    }
})) {}
--INI--
log_errors=1
output_buffering=0
opcache.jit=function
opcache.jit_buffer_size=16M
opcache.file_update_protection=0
--HOWDAH--
show exit log
option concurrency 8
worker {ROOT}/test.php
var QUERY_STRING how=wait
push wait
wait-log begin
time-out wait
await wait
var QUERY_STRING how=look
run
stop
--EXPECTREGEX--
\[log n 1\] begin
wait: 
on, ended
(\[log w \d+\] PHP backtrace of the request:\n(#\d+ [^\n]*\n)+)+\[log n 1\] finally
\[worker exited with status 0\]
