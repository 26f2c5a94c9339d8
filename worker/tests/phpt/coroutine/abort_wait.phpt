--TEST--
Coroutines: a client that disconnects ends its request where it waits, unless the request ignores that
--FILE--
<?php
final class Local {
    public function __construct(private string $of) {}
    public function __destruct() { error_log("destructor of $this->of"); }
}
function wait_for(stdClass $gate, string $name): void {
    while (!isset($gate->$name)) {
        usleep(1000);
    }
}
$gate = new stdClass();
ignore_user_abort(false); // for all requests: a worker script begins with true
while (frankenphp_handle_request(static function () use ($gate) {
    $how = $_GET['how'];
    if ($how === 'open') {
        $gate->{$_GET['for']} = true;
        return;
    }
    if ($how === 'ignore' || $how === 'later') {
        ignore_user_abort(true);
    }
    register_shutdown_function(static function () use ($how) {
        $before = hrtime(true);
        usleep(20000);
        $waited = hrtime(true) - $before >= 20000000 ? 'waits' : 'does not wait';
        error_log("shutdown of $how $waited, connection status " . connection_status());
        flush();
        $before = hrtime(true);
        usleep(20000);
        echo hrtime(true) - $before >= 20000000 ? '' : error_log('not after output');
    });
    register_shutdown_function(static fn () => error_log("and another one"));
    $local = new Local($how);
    [$ours, $theirs] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
    set_error_handler($how !== 'handled' ? null : static fn () => throw new ErrorException('a call failed'));
    try {
        echo 'begin ';
        flush();
        switch ($how) {
            case 'sleep': sleep(3600);
            case 'handled':
            case 'read': fgets($ours);
            case 'fiber': (new Fiber(static fn () => sleep(3600)))->start();
            case 'last': usleep(3600000000); return;
            case 'retry': while (true) { try { fgets($ours); throw new Exception(); } catch (Exception) { error_log('caught'); } }
            case 'children':
                $child = Howdah\spawn(static function () {
                    $local = new Local('child');
                    echo 'child ';
                    flush();
                    sleep(3600);
                });
                Howdah\await($child);
            case 'ignore':
                wait_for($gate, 'ignore');
                error_log('ignore goes on, aborted: ' . connection_aborted());
                return;
            case 'later':
                wait_for($gate, 'later');
                error_log('later goes on');
                ignore_user_abort(false);
                sleep(3600);
        }
    } catch (Throwable $error) {
        error_log('caught ' . $error->getMessage());
    } finally {
        error_log("finally of $how");
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
leave sleep
await sleep
var QUERY_STRING how=read
push read
await-body read begin
leave read
await read
var QUERY_STRING how=handled
push handled
await-body handled begin
leave handled
await handled
var QUERY_STRING how=fiber
push fiber
await-body fiber begin
leave fiber
await fiber
var QUERY_STRING how=last
push last
await-body last begin
leave last
await last
var QUERY_STRING how=retry
push retry
await-body retry begin
leave retry
await retry
var QUERY_STRING how=children
push children
await-body children child
leave children
await children
var QUERY_STRING how=ignore
push ignore
await-body ignore begin
leave ignore
var QUERY_STRING how=later
push later
await-body later begin
leave later
var QUERY_STRING how=open&for=later
push open1
await open1
await later
var QUERY_STRING how=open&for=ignore
push open2
await open2
await ignore
stop
--EXPECT--
sleep: begin 
read: begin 
handled: begin 
fiber: begin 
last: begin 
retry: begin 
children: begin child 
open1: 
later: begin 
open2: 
ignore: begin 
[log n 1] finally of sleep
[log n 1] destructor of sleep
[log n 1] shutdown of sleep waits, connection status 1
[log n 1] and another one
[log n 2] finally of read
[log n 2] destructor of read
[log n 2] shutdown of read waits, connection status 1
[log n 2] and another one
[log n 3] finally of handled
[log n 3] destructor of handled
[log n 3] shutdown of handled waits, connection status 1
[log n 3] and another one
[log n 4] finally of fiber
[log n 4] destructor of fiber
[log n 4] shutdown of fiber waits, connection status 1
[log n 4] and another one
[log n 5] finally of last
[log n 5] destructor of last
[log n 5] shutdown of last waits, connection status 1
[log n 5] and another one
[log n 6] finally of retry
[log n 6] destructor of retry
[log n 6] shutdown of retry waits, connection status 1
[log n 6] and another one
[log n 7] destructor of child
[log n 7] finally of children
[log n 7] destructor of children
[log n 7] shutdown of children waits, connection status 1
[log n 7] and another one
[log n 9] later goes on
[log n 9] finally of later
[log n 9] destructor of later
[log n 9] shutdown of later waits, connection status 1
[log n 9] and another one
[log n 8] ignore goes on, aborted: 1
[log n 8] finally of ignore
[log n 8] destructor of ignore
[log n 8] shutdown of ignore waits, connection status 1
[log n 8] and another one
[worker exited with status 0]
