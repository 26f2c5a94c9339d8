--TEST--
Worker mode: a request that uses up its processor time is logged with its backtrace and ends its worker
--FILE--
<?php
function compute(): void
{
	while (true) {
	}
}
while (frankenphp_handle_request(compute(...))) {
}
--HOWDAH--
show exit log
option cpu_timeout_ms 100
worker {ROOT}/test.php
push endless
wait-log compute()
wait-exit
--EXPECTF--
%A[log e 1] The request took more than its 100 ms of processor time
[log w 1] PHP backtrace of the request:
#0 compute() {ROOT}/test.php:4
%A[worker exited with status 72]
