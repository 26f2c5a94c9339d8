--TEST--
Coroutines: one Redis object for all requests: calls wait in turn, MULTI, pipelines and WATCH stay whole
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
[$host, $port] = explode(':', getenv('HOWDAH_TEST_REDIS'));
$redis = new Redis();
$redis->connect($host, (int) $port);
$redis->del('howdah-coroutines');
while (frankenphp_handle_request(static function () use ($redis) {
    $n = (int) $_GET['n'];
    $wrong = [];
    $is = static function ($what, $expected, $found) use (&$wrong) {
        if ($expected !== $found) {
            $wrong[] = "$what: " . var_export($found, true);
        }
    };
    $key = "howdah-coroutine-$n";
    for ($i = 0; $i < 20; $i++) {
        $is('set', true, $redis->set($key, "value $n $i"));
        $is('get', "value $n $i", $redis->get($key));
    }
    $redis->multi();
    $redis->set($key, "$n");
    usleep(2000);
    $redis->get($key);
    $is('multi', [true, "$n"], $redis->exec());
    $redis->pipeline();
    $redis->get($key);
    usleep(2000);
    $redis->get($key);
    $is('pipeline', ["$n", "$n"], $redis->exec());
    do {
        $redis->watch('howdah-coroutines');
        $value = (int) $redis->get('howdah-coroutines');
        usleep(1000);
    } while (!$redis->multi()->set('howdah-coroutines', $value + 1)->exec());
    $redis->del($key);
    if ($n % 4 === 0) {
        $redis->multi(); // it stays open
    }
    echo $wrong ? "$n: " . implode(', ', $wrong) : 'right';
})) {
}
--HOWDAH--
show exit
option concurrency 12
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
var REQUEST_URI /11
var QUERY_STRING n=11
push r11
var REQUEST_URI /12
var QUERY_STRING n=12
push r12
await all
stop
--EXPECTREGEX--
(r\d+: right\n){12}\[worker exited with status 0\]
