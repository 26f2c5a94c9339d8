--TEST--
Coroutines: one RedisCluster object for all requests: calls wait in turn, MULTI stays whole and with its request
--SKIPIF--
<?php
if (!class_exists('RedisCluster')) {
    echo 'skip RedisCluster is not loaded';
} elseif (!getenv('HOWDAH_TEST_REDIS_CLUSTER')) {
    echo 'skip HOWDAH_TEST_REDIS_CLUSTER is not set, e.g. to "127.0.0.1:7000"';
}
--INI--
howdah.pool_wait=60
--FILE--
<?php
$redis = new RedisCluster(null, [getenv('HOWDAH_TEST_REDIS_CLUSTER')]);
// Of each node: the boot has connections.
$keys = array_map(static fn (int $n) => "howdah-boot-$n", range(1, 20));
foreach ($keys as $key) {
    $redis->set($key, 'boot');
}
while (frankenphp_handle_request(static function () use ($redis, $keys) {
    $n = (int) $_GET['n'];
    $wrong = [];
    $is = static function ($what, $expected, $found) use (&$wrong) {
        if ($expected !== $found) {
            $wrong[] = "$what: " . var_export($found, true);
        }
    };
    foreach ($keys as $i => $key) {
        $is('boot', 'boot', $redis->get($key));
        $is('set', true, $redis->set("howdah-$n-$i", "value $n $i"));
        $is('get', "value $n $i", $redis->get("howdah-$n-$i"));
        $is('echo', "hello $n", $redis->echo($key, "hello $n"));
    }
    $redis->multi();
    $redis->set("{howdah-$n}-a", "$n");
    usleep(2000);
    $redis->set("{howdah-$n}-b", "$n");
    usleep(2000);
    $redis->get("{howdah-$n}-a");
    $is('multi', [true, true, "$n"], $redis->exec());
    if ($n % 4 === 0) {
        $redis->multi(); // it stays open
        $redis->set("{howdah-$n}-a", 'open');
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
