--TEST--
Coroutines: straight-line code after a call whose wait was cancelled does not see the call's result
--FILE--
<?php
final class Reader {
    /** @param resource $stream */
    public function __construct(private $stream) {}
    public function __invoke(): string|false { return stream_get_contents($this->stream); }
}
function read_all(mixed $stream, mixed ...$others): string|false {
    return stream_get_contents($stream);
}
while (frankenphp_handle_request(static function () {
    $how = $_GET['how'];
    register_shutdown_function(static function () use ($how) {
        usleep(1000);
        error_log("shutdown of $how");
    });
    echo 'begin ';
    flush();
    [$ours, $theirs] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
    // Each way is written out: after a jump or in a function of PHP the engine looks anyway whether to go on.
    if ($how === 'sleep') {
        $rest = sleep(3600);
        error_log("never runs with $rest");
    } elseif ($how === 'read') {
        $text = stream_get_contents($ours);
        error_log('never runs with ' . var_export($text, true));
    } elseif ($how === 'callback') {
        $text = array_map('stream_get_contents', [$ours]);
        error_log('never runs with ' . var_export($text, true));
    } elseif ($how === 'named') {
        $text = call_user_func('read_all', $ours, rest: 1);
        error_log('never runs with ' . var_export($text, true));
    } elseif ($how === 'name') {
        $text = ('stream_get' . '_contents')($ours);
        error_log('never runs with ' . var_export($text, true));
    } elseif ($how === 'object') {
        $text = (new Reader($ours))();
        error_log('never runs with ' . var_export($text, true));
    } elseif ($how === 'reflection') {
        $text = (new ReflectionFunction('stream_get_contents'))->invoke($ours);
        error_log('never runs with ' . var_export($text, true));
    } elseif ($how === 'child') {
        $child = Howdah\spawn(static function () use ($ours) {
            $text = stream_get_contents($ours);
            error_log('never runs with ' . var_export($text, true));
        });
        try {
            Howdah\timeout(0.001, static function () use ($child) {
                $text = Howdah\await($child);
                error_log('never runs with ' . var_export($text, true));
            });
        } catch (Howdah\TimeoutException) {
            error_log('the time is over');
        }
        sleep(3600);
        error_log('never runs');
    }
})) {}
--INI--
log_errors=1
output_buffering=0
--HOWDAH--
show exit log
option concurrency 8
worker {ROOT}/test.php
var QUERY_STRING how=sleep
push sleep
await-body sleep begin
time-out sleep
await sleep
var QUERY_STRING how=read
push read
await-body read begin
time-out read
await read
var QUERY_STRING how=callback
push callback
await-body callback begin
time-out callback
await callback
var QUERY_STRING how=named
push named
await-body named begin
time-out named
await named
var QUERY_STRING how=name
push name
await-body name begin
time-out name
await name
var QUERY_STRING how=object
push object
await-body object begin
time-out object
await object
var QUERY_STRING how=reflection
push reflection
await-body reflection begin
time-out reflection
await reflection
var QUERY_STRING how=child
push child
await-body child begin
wait-log the time is over
time-out child
await child
stop
--EXPECTREGEX--
sleep: begin 
read: begin 
callback: begin 
named: begin 
name: begin 
object: begin 
reflection: begin 
(\[log w \d+\] PHP backtrace of the request:\n(#\d+ [^\n]*\n)+)+\[log n 1\] shutdown of sleep
(\[log w \d+\] PHP backtrace of the request:\n(#\d+ [^\n]*\n)+)+\[log n 2\] shutdown of read
(\[log w \d+\] PHP backtrace of the request:\n(#\d+ [^\n]*\n)+)+\[log n 3\] shutdown of callback
(\[log w \d+\] PHP backtrace of the request:\n(#\d+ [^\n]*\n)+)+\[log n 4\] shutdown of named
(\[log w \d+\] PHP backtrace of the request:\n(#\d+ [^\n]*\n)+)+\[log n 5\] shutdown of name
(\[log w \d+\] PHP backtrace of the request:\n(#\d+ [^\n]*\n)+)+\[log n 6\] shutdown of object
(\[log w \d+\] PHP backtrace of the request:\n(#\d+ [^\n]*\n)+)+\[log n 7\] shutdown of reflection
\[log n 8\] the time is over
child: begin 
(\[log w \d+\] PHP backtrace of the request:\n(#\d+ [^\n]*\n)+)+\[log n 8\] shutdown of child
\[worker exited with status 0\]
