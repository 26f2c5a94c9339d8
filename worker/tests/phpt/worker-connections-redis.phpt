--TEST--
Worker mode: a MULTI or a pipeline that a request left on a Redis connection is discarded
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
$never = new Redis();
$leave = [fn () => $redis->multi()->set('howdah-test', 1), fn () => $redis->pipeline()->get('howdah-test'), fn () => $redis->pipeline()->multi(), fn () => null];
while (frankenphp_handle_request(function () use ($redis, &$leave) {
    var_dump($redis->exists('howdah-test'), $redis->getMode() === Redis::ATOMIC);
    array_shift($leave)();
})) {
}
--HOWDAH--
worker {ROOT}/test.php
run
run
run
run
--EXPECT--
int(0)
bool(true)

int(0)
bool(true)

int(0)
bool(true)

int(0)
bool(true)
