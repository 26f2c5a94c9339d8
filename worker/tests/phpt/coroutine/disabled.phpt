--TEST--
Coroutines: functions that are disabled are no reason to do without coroutines
--FILE--
<?php
function sqrt(float $x): float
{
    return 1.0;
}

$gate = new stdClass();
while (frankenphp_handle_request(static function () use ($gate) {
    if ($_GET['n'] === 'open') {
        $gate->open = true;
    }
    while (!isset($gate->open)) {
        time_nanosleep(0, 1000000);
    }
    echo $_GET['n'];
})) {}
--INI--
disable_functions=usleep,ini_set,trigger_error,hrtime,ob_start,json_encode,sqrt,http_response_code
--HOWDAH--
show exit log
option concurrency 2
worker {ROOT}/test.php
var QUERY_STRING n=a
push a
var QUERY_STRING n=open
push open
await open
await a
stop
--EXPECT--
open: open
a: a
[worker exited with status 0]
