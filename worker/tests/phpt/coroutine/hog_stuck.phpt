--TEST--
Coroutines: while a function that cannot be interrupted holds the process, the log says so
--FILE--
<?php
while (frankenphp_handle_request(static function () {
    echo similar_text(str_repeat('ab', 15_000), str_repeat('cd', 15_000));
})) {}
--HOWDAH--
show exit log
option concurrency 2
option hog_threshold_ms 1
worker {ROOT}/test.php
push stuck
wait-log cannot be interrupted
await stuck
stop
--EXPECTF--
[log w 1] The request has kept the others of this worker waiting for %d ms, and still does, in a call that cannot be interrupted
%Astuck: 0
%A[worker exited with status 0]
