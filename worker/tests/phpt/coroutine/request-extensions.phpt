--TEST--
Coroutines: howdah.request_extensions has no effect, with a message in the log
--FILE--
<?php
while (frankenphp_handle_request(static function () {
    echo howdah_probe();
})) {
}
--INI--
extension={PROBE}
howdah.request_extensions=howdah_probe
--HOWDAH--
option concurrency 4
worker {ROOT}/test.php
show log
run
run
--EXPECTF--
[log w %d] howdah.request_extensions has no effect in a pool with `concurrency`: an extension has one state for all requests of a process. Use howdah_on_request_start()
starts 1, ends 0, in turn
starts 1, ends 0, in turn
