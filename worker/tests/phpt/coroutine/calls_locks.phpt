--TEST--
Coroutines: locks of files and sessions let other requests run while they wait
--FILE--
<?php
$gate = new stdClass();
touch('lock');
$held = fopen('lock', 'r+');
$closed = fopen('lock', 'r+');
flock($held, LOCK_EX);
session_save_path('.');
$cases = [
    'flock' => [
        'a' => static function () use ($gate) {
            $own = fopen('lock', 'r+');
            $free = flock($own, LOCK_EX | LOCK_NB, $taken);
            $gate->waits = true;
            return [$free, $taken, flock($own, LOCK_EX), isset($gate->given)];
        },
        'b' => static function () use ($gate, $held) {
            while (!isset($gate->waits)) {
                usleep(1000);
            }
            $gate->given = true;
            return flock($held, LOCK_UN);
        },
    ],
    'close' => [
        'a' => static function () use ($gate) {
            $own = fopen('lock', 'r+');
            while (!isset($gate->taken)) {
                usleep(1000);
            }
            return [flock($own, LOCK_SH), isset($gate->closes)];
        },
        'b' => static function () use ($gate) {
            $own = fopen('lock', 'r+');
            flock($own, LOCK_EX);
            $gate->taken = true;
            usleep(5000);
            $gate->closes = true;
            return fclose($own);
        },
    ],
    'session' => [
        'a' => static function () use ($gate) {
            while (!isset($gate->started)) {
                usleep(1000);
            }
            $gate->asked = true;
            session_id('one');
            session_start(['use_cookies' => false, 'cache_limiter' => '']);
            return $_SESSION['from'];
        },
        'b' => static function () use ($gate) {
            session_id('one');
            session_start(['use_cookies' => false, 'cache_limiter' => '']);
            $gate->started = true;
            while (!isset($gate->asked)) {
                usleep(1000);
            }
            usleep(5000);
            $_SESSION['from'] = 'b';
            return session_write_close();
        },
    ],
];
while (frankenphp_handle_request(static function () use ($cases) {
    // In each case the first cannot end before the second has done its part.
    $result = $cases[$_GET['how']][$_GET['me']]();
    echo json_encode($result);
})) {}
--HOWDAH--
option concurrency 2
worker {ROOT}/test.php
var QUERY_STRING me=a&how=flock
push flock
var QUERY_STRING me=b&how=flock
push other
await flock
await other
var QUERY_STRING me=a&how=close
push close
var QUERY_STRING me=b&how=close
push other
await close
await other
var QUERY_STRING me=a&how=session
push session
var QUERY_STRING me=b&how=session
push other
await session
await other
stop
--EXPECT--
flock: [false,1,true,true]
other: true
close: [true,true]
other: true
session: "b"
other: true
