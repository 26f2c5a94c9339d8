--TEST--
Worker mode: detect_leaks says once that it cannot check all values
--INI--
memory_limit=-1
--FILE--
<?php
while (frankenphp_handle_request(function () {
    if (isset($_GET['many'])) {
        for ($i = 0; $i < 70_000; $i++) {
            $GLOBALS["v$i"] = $_GET['many'] . $i;
        }
    }
})) {
}
--HOWDAH--
worker {ROOT}/test.php
option keep 1023
option detect_leaks_sample 1
show log
var QUERY_STRING many=a
run
wait-log detect_leaks
var QUERY_STRING many=b
run
stop
--EXPECT--
[log w 1] detect_leaks: requests have changed 65536 values of this worker; it does not check others
