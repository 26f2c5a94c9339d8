--TEST--
Worker mode: workers are forks of the booted script; hooks run in each, random sequences differ
--FILE--
<?php
$pid = getmypid();
mt_srand(5);
$hooks = 0;
howdah_after_fork(static function () use (&$hooks) { $hooks++; });
try { frankenphp_handle_request('missing'); } catch (TypeError) { error_log('TypeError'); }
while (frankenphp_handle_request(static function () use ($pid, &$hooks) {
    try { howdah_after_fork(static fn () => 0); } catch (RuntimeException $e) { echo $e->getMessage(), "\n"; }
    try { frankenphp_handle_request(static fn () => 0); } catch (RuntimeException $e) { echo $e->getMessage(), "\n"; }
    echo json_encode([$pid === getmypid(), $hooks]);
})) {}
--HOWDAH--
show exit
worker {ROOT}/test.php
max-requests 1
run
wait-exit
respawn
run
wait-exit
--EXPECT--
howdah_after_fork() must be called while a worker script boots, before its first request
frankenphp_handle_request() called while a request is handled
[false,1]
[worker exited with status 0]
howdah_after_fork() must be called while a worker script boots, before its first request
frankenphp_handle_request() called while a request is handled
[false,1]
[worker exited with status 0]
