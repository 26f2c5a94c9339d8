--TEST--
Worker mode: a Redis object that the worker script connected reconnects in the worker, with its database
--SKIPIF--
<?php
if (!extension_loaded('redis')) {
    echo 'skip redis is not loaded';
} elseif (!getenv('HOWDAH_TEST_REDIS')) {
    echo 'skip HOWDAH_TEST_REDIS is not set, e.g. to "127.0.0.1:6379"';
}
--FILE--
<?php
[$host, $port] = explode(':', getenv('HOWDAH_TEST_REDIS'));
$redis = new Redis();
$redis->connect($host, (int) $port);
$redis->select(3);
$redis->set('howdah-test-fork', 'three');
$boot = $redis->rawCommand('client', 'id');
while (frankenphp_handle_request(function () use ($redis, $boot) {
    echo $redis->get('howdah-test-fork'), ' ', $redis->rawCommand('client', 'id') === $boot ? 'shared' : 'own', ' ',
        preg_match_all("/^id=$boot /m", $redis->rawCommand('client', 'list'));
})) {
}
--HOWDAH--
worker {ROOT}/test.php
max-requests 1
run
wait-exit
respawn
run
--EXPECT--
three own 0
three own 0
