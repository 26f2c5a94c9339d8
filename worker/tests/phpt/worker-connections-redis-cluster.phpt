--TEST--
Worker mode: a RedisCluster of the boot works in each process, and a MULTI that a request left is not the next one's
--SKIPIF--
<?php
if (!class_exists('RedisCluster')) {
    echo 'skip RedisCluster is not loaded';
} elseif (!getenv('HOWDAH_TEST_REDIS_CLUSTER')) {
    echo 'skip HOWDAH_TEST_REDIS_CLUSTER is not set, e.g. to "127.0.0.1:7000"';
}
--FILE--
<?php
$redis = new RedisCluster(null, [getenv('HOWDAH_TEST_REDIS_CLUSTER')]);
$keys = array_map(static fn (int $n) => "howdah-boot-$n", range(1, 20));
foreach ($keys as $key) {
    $redis->set($key, 'boot');
}
while (frankenphp_handle_request(static function () use ($redis, $keys) {
    echo $redis->getMode(), ' ';
    echo implode(' ', array_unique(array_map(static fn (string $key) => $redis->get($key), $keys)));
    $redis->multi();
    $redis->set($keys[0], 'left');
})) {
}
--HOWDAH--
worker {ROOT}/test.php
run
run
--EXPECT--
0 boot
0 boot
