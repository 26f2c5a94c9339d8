--TEST--
Coroutines: the log reports a function that holds the process and cannot be interrupted
--FILE--
<?php
$gate = new stdClass();
$texts = [str_repeat('ab', 15_000), str_repeat('cd', 15_000)];
while (frankenphp_handle_request(static function () use ($gate, $texts) {
    if ($_GET['n'] === 'open') {
        $gate->open = true;
        return;
    }
    // Again and again: of one that is found earlier, as the machine gave the process no time, that is told instead.
    while (!isset($gate->open)) {
        usleep(1000);
        $same = similar_text(...$texts);
    }
    echo $same;
})) {}
--HOWDAH--
show exit log
option concurrency 2
option hog_threshold_ms 1
worker {ROOT}/test.php
var QUERY_STRING n=stuck
push stuck
wait-log cannot be interrupted
var QUERY_STRING n=open
push open
await open
await stuck
stop
--EXPECTF--
%A[log w 1] The request has kept the others of this worker waiting for %d ms, and still does, in a call that cannot be interrupted
%Aopen: 
stuck: 0
%A[worker exited with status 0]
