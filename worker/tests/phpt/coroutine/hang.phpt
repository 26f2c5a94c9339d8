--TEST--
Coroutines: a worker that makes no progress exits, with the stacks of PHP and C in the log; code that computes continues
--FILE--
<?php
$texts = [str_repeat('ab', 400_000), str_repeat('cd', 400_000)];
while (frankenphp_handle_request(static function () use ($texts) {
    if ($_GET['n'] === 'computes') {
        for ($end = hrtime(true) + 1_500_000_000, $n = 0; hrtime(true) < $end; $n++) {
        }
        echo $n > 0 ? 'computed' : '';
        return;
    }
    echo similar_text(...$texts); // minutes, in one call
})) {
}
--HOWDAH--
show exit log
option concurrency 2
option hog_threshold_ms 0
option hang_timeout_ms 500
worker {ROOT}/test.php
var QUERY_STRING n=computes
push computes
await computes
var QUERY_STRING n=hangs
push hangs
wait-exit
--EXPECTF--
computes: computed
[log e 2] The worker has made no progress for %d ms in this request and exits
[log w 2] PHP backtrace of the request:
#0 similar_text()
#1 {closure%S}() {ROOT}/test.php:10
[log w 0] C backtrace:
#0 %s
%A execute_ex %A[worker exited with status 73]
