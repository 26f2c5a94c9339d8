--TEST--
Coroutines: Datadog's extension, which would crash, makes each worker run one request at a time
--FILE--
<?php
while (frankenphp_handle_request(static function () {
    echo 'served';
})) {
}
--INI--
extension={PROBE}
howdah_probe.name=ddtrace
--HOWDAH--
option concurrency 4
option flags 512
worker {ROOT}/test.php
show log
run
--EXPECTF--
[log w 0] PHP %s cannot run several requests at a time here, so each worker of the pool test runs one: the extension ddtrace crashes after uncaught exceptions
served
