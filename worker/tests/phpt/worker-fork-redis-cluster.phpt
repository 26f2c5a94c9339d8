--TEST--
Worker mode: the first MULTI of a RedisCluster of the boot works, whatever the boot left open
--SKIPIF--
<?php
if (!class_exists('RedisCluster')) {
    echo 'skip RedisCluster is not loaded';
} elseif (!getenv('HOWDAH_TEST_REDIS_CLUSTER')) {
    echo 'skip HOWDAH_TEST_REDIS_CLUSTER is not set, e.g. to "127.0.0.1:7000"';
}
--FILE--
<?php
$keys = array_map(static fn (int $n) => "howdah-first-$n", range(1, 20)); // of each node
$all = [];
foreach (['fresh', 'used', 'multi', 'watch'] as $left) {
    $redis = $all[$left] = new RedisCluster(null, [getenv('HOWDAH_TEST_REDIS_CLUSTER')]);
    if ($left !== 'fresh') {
        foreach ($keys as $key) {
            $redis->set($key, 'boot');
        }
    }
    match ($left) {
        'multi' => $redis->multi()->get($keys[0]),
        'watch' => array_map([$redis, 'watch'], $keys),
        default => null,
    };
}
while (frankenphp_handle_request(static function () use ($all, $keys) {
    foreach ($all as $name => $redis) {
        $found = array_map(static fn ($key) => $_GET['first'] === 'multi'
            ? implode(' ', $redis->multi()->get($key)->strlen($key)->exec())
            : $redis->get($key), $keys);
        echo "$name: ", implode(' ', array_unique($found)), ', ', $redis->getMode(), "\n";
    }
})) {
}
--HOWDAH--
worker {ROOT}/test.php
max-requests 1
var QUERY_STRING first=multi
run
wait-exit
respawn
var QUERY_STRING first=get
run
--EXPECT--
fresh: boot 4, 0
used: boot 4, 0
multi: boot 4, 0
watch: boot 4, 0

fresh: boot, 0
used: boot, 0
multi: boot, 0
watch: boot, 0
