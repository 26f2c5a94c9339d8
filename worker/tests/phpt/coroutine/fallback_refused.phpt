--TEST--
Coroutines: on an unsuitable PHP the boot fails, and the log has the reason
--SKIPIF--
<?php
if (PHP_VERSION_ID >= 80500) {
    echo 'skip classes cannot be disabled';
}
--FILE--
<?php
function handle(): void
{
    echo $_GET['n'];
    usleep(1000);
}

while (frankenphp_handle_request('handle')) {}
--INI--
disable_classes=Closure
--HOWDAH--
show exit log
option concurrency 4
worker {ROOT}/test.php
run
--EXPECTF--
[log e 0] PHP %s cannot run several requests at a time here, as `concurrency` of the pool test requires: calls that wait do not let others run (%s). With `concurrency_fallback` each worker runs one
[boot ended with status 71]
