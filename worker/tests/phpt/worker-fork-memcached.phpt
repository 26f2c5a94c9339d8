--TEST--
Worker mode: a Memcached object that the boot has used connects in each worker
--SKIPIF--
<?php
if (!extension_loaded('memcached')) {
    echo 'skip memcached is not loaded';
} elseif (!getenv('HOWDAH_TEST_MEMCACHED')) {
    echo 'skip HOWDAH_TEST_MEMCACHED is not set, e.g. to "127.0.0.1:11211"';
}
--FILE--
<?php
[$host, $port] = explode(':', getenv('HOWDAH_TEST_MEMCACHED'));
$cache = new Memcached();
$cache->addServer($host, (int) $port);
$cache->set('from', 'the boot');
$broken = (new ReflectionClass(Memcached::class))->newInstanceWithoutConstructor();
while (frankenphp_handle_request(function () use ($cache) {
    echo $cache->get('from'), ', ', $cache->getResultMessage(), "\n";
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
the boot, SUCCESS

the boot, SUCCESS
