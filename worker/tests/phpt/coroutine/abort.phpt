--TEST--
Coroutines: a client that disconnects ends its request at the next output unless the request ignores that
--FILE--
<?php
$gate = new stdClass();
while (frankenphp_handle_request(static function () use ($gate) {
    $how = $_GET['how'];
    if ($how === 'open') {
        $gate->{$_GET['for']} = true;
        return;
    }
    ignore_user_abort($how === 'ignore');
    register_shutdown_function(static function () use ($how) {
        error_log("shutdown of $how, connection status " . connection_status());
    });
    echo 'begin ';
    flush();
    while ($how === 'ignore' && !isset($gate->$how)) {
        usleep(1000);
    }
    for ($i = 0; $how === 'heed' || $i < 100000; $i++) {
        echo 'more than the ring holds, if nobody reads ';
    }
    error_log("$how goes on");
})) {}
--INI--
log_errors=1
output_buffering=0
--HOWDAH--
show exit log
option concurrency 8
worker {ROOT}/test.php
var QUERY_STRING how=ignore
push ignore
await-body ignore begin
var QUERY_STRING how=heed
push heed
await-body heed begin
var QUERY_STRING how=open&for=nobody
push past-the-flush
await past-the-flush
leave ignore
leave heed
wait-log shutdown of heed
var QUERY_STRING how=open&for=ignore
push open
wait-log shutdown of ignore
stop
--EXPECT--
past-the-flush: 
[log n 2] shutdown of heed, connection status 1
[log n 1] ignore goes on
[log n 1] shutdown of ignore, connection status 1
[worker exited with status 0]
