--TEST--
Worker mode with boot each: the script runs in the worker
--FILE--
<?php
$pid = getmypid();
howdah_after_fork(static function () { error_log('hook'); });
while (frankenphp_handle_request(static function () use ($pid) { var_dump($pid === getmypid()); })) {}
--INI--
log_errors=1
error_log=
--HOWDAH--
show exit state log
worker {ROOT}/test.php
option flags 1
run
stop
--EXPECT--
bool(true)

[log n 0] hook
[state] ready
[worker exited with status 0]
