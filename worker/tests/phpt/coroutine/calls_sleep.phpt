--TEST--
Coroutines: functions that sleep let other requests run
--FILE--
<?php
$gate = new stdClass();
$server = stream_socket_server('tcp://127.0.0.1:0');
$sleep = [
    'usleep' => static fn () => usleep(1000),
    'sleep' => static fn () => sleep(1),
    'none' => static fn () => usleep(0),
    'nano' => static fn () => time_nanosleep(0, 1_000_000),
    // A time that is over before the call is refused, and a busy machine may have it so.
    'until' => static function () {
        while (!@time_sleep_until(microtime(true) + 0.001)) {
        }
        return true;
    },
    'lookup' => static fn () => gethostbyname('localhost'),
    'select' => static function () use ($server) {
        [$read, $write, $except] = [[$server], null, null];
        return stream_select($read, $write, $except, 0, 1000);
    },
];
while (frankenphp_handle_request(static function () use ($gate, $sleep) {
    $how = $_GET['how'];
    if ($_GET['me'] === 'b') {
        $gate->$how = true;
        return;
    }
    // Without others there would be no end.
    while (!isset($gate->$how)) {
        $slept = $sleep[$how]();
    }
    echo $how, ' ', var_export($slept, true);
})) {}
--HOWDAH--
option concurrency 2
worker {ROOT}/test.php
var QUERY_STRING me=a&how=usleep
push usleep
var QUERY_STRING me=b&how=usleep
push other
await usleep
await other
var QUERY_STRING me=a&how=sleep
push sleep
var QUERY_STRING me=b&how=sleep
push other
await sleep
await other
var QUERY_STRING me=a&how=none
push none
var QUERY_STRING me=b&how=none
push other
await none
await other
var QUERY_STRING me=a&how=nano
push nano
var QUERY_STRING me=b&how=nano
push other
await nano
await other
var QUERY_STRING me=a&how=until
push until
var QUERY_STRING me=b&how=until
push other
await until
await other
var QUERY_STRING me=a&how=lookup
push lookup
var QUERY_STRING me=b&how=lookup
push other
await lookup
await other
var QUERY_STRING me=a&how=select
push select
var QUERY_STRING me=b&how=select
push other
await select
await other
stop
--EXPECT--
usleep: usleep NULL
other: 
sleep: sleep 0
other: 
none: none NULL
other: 
nano: nano true
other: 
until: until true
other: 
lookup: lookup '127.0.0.1'
other: 
select: select 0
other:
