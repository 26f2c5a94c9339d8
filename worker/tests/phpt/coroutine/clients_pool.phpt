--TEST--
Coroutines: howdah_pool() lends clients that a callback makes, one to a request
--SKIPIF--
<?php
if (!extension_loaded('redis')) {
    echo 'skip redis is not loaded';
} elseif (!getenv('HOWDAH_TEST_REDIS')) {
    echo 'skip HOWDAH_TEST_REDIS is not set, e.g. to "127.0.0.1:6379"';
}
--INI--
howdah.pool_wait=60
--FILE--
<?php
$made = 0;
$pool = howdah_pool(static function () use (&$made) {
    [$host, $port] = explode(':', getenv('HOWDAH_TEST_REDIS'));
    $made++;
    $redis = new Redis();
    $redis->connect($host, (int) $port);
    return $redis;
}, ['size' => 3]);
while (frankenphp_handle_request(static function () use ($pool, &$made) {
    $n = (int) $_GET['n'];
    $wrong = [];
    $is = static function ($what, $expected, $found) use (&$wrong) {
        if ($expected !== $found) {
            $wrong[] = "$what: " . var_export($found, true);
        }
    };
    $is('same', true, $pool->get() === $pool->get());
    $is('mode', Redis::ATOMIC, $pool->get()->getMode());
    $pool->get()->multi();
    $pool->get()->set("howdah-pool-$n", "$n");
    usleep(3000);
    $is('multi', [true, "$n"], $pool->get()->get("howdah-pool-$n")->exec());
    $pool->get()->del("howdah-pool-$n");
    $is('made', true, $made <= 3);
    if ($n % 2) {
        $pool->get()->multi(); // it stays open
    }
    echo $wrong ? "$n: " . implode(', ', $wrong) : 'right';
})) {
}
--HOWDAH--
show exit
option concurrency 10
worker {ROOT}/test.php
var REQUEST_URI /1
var QUERY_STRING n=1
push r1
var REQUEST_URI /2
var QUERY_STRING n=2
push r2
var REQUEST_URI /3
var QUERY_STRING n=3
push r3
var REQUEST_URI /4
var QUERY_STRING n=4
push r4
var REQUEST_URI /5
var QUERY_STRING n=5
push r5
var REQUEST_URI /6
var QUERY_STRING n=6
push r6
var REQUEST_URI /7
var QUERY_STRING n=7
push r7
var REQUEST_URI /8
var QUERY_STRING n=8
push r8
var REQUEST_URI /9
var QUERY_STRING n=9
push r9
var REQUEST_URI /10
var QUERY_STRING n=10
push r10
await all
stop
--EXPECTREGEX--
(r\d+: right\n){10}\[worker exited with status 0\]
