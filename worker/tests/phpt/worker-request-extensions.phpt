--TEST--
Worker mode: extensions that howdah.request_extensions names are started and ended with each request
--FILE--
<?php
error_log('boot: ' . howdah_probe());
while (frankenphp_handle_request(static function () {
    echo howdah_probe();
})) {
}
error_log('end: ' . howdah_probe());
--INI--
extension={PROBE}
howdah.request_extensions="Howdah_Probe, zlib"
--HOWDAH--
worker {ROOT}/test.php
show log exit
run
run
stop
--EXPECT--
[log n 0] boot: starts 1, ends 0, in turn
starts 2, ends 1, in turn
starts 3, ends 2, in turn
[log n 0] end: starts 3, ends 3, in turn
[worker exited with status 0]
