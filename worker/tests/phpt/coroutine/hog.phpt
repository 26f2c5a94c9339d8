--TEST--
Coroutines: a request that keeps others waiting is logged with its backtrace, and with a time slice it lets them run
--FILE--
<?php
$gate = new stdClass();

function busy(stdClass $gate): void
{
    // Without a wait: only the time slice lets the other one open it.
    while (!isset($gate->open)) {
    }
}

while (frankenphp_handle_request(static function () use ($gate) {
    echo $_GET['n'];
    if ($_GET['n'] === 'open') {
        $gate->open = true;
    } else {
        busy($gate);
    }
})) {}
--HOWDAH--
show exit log
option concurrency 4
option time_slice_ms 20
option hog_threshold_ms 15
worker {ROOT}/test.php
var QUERY_STRING n=hog
push hog
wait-log busy()
var QUERY_STRING n=open
push open
await all
stop
--EXPECTF--
%A[log w 1] The request has kept the others of this worker waiting for %d ms; PHP backtrace:
#0 busy() {ROOT}/test.php:%d
#1 {closure%S}() {ROOT}/test.php:%d
%Aopen: open
hog: hog
%A[worker exited with status 0]
