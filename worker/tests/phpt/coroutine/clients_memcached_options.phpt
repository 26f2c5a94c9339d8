--TEST--
Coroutines: options that a request sets on a Memcached object of the boot end with the request
--EXTENSIONS--
memcached
--SKIPIF--
<?php
if (!getenv('HOWDAH_TEST_MEMCACHED')) {
    die('skip no memcached');
}
--FILE--
<?php
[$host, $port] = explode(':', getenv('HOWDAH_TEST_MEMCACHED'));
$cache = new Memcached();
$cache->addServer($host, (int) $port);
$cache->setOption(Memcached::OPT_PREFIX_KEY, 'options:');
while (frankenphp_handle_request(static function () use ($cache) {
    if ($_GET['n'] === 'set') {
        $cache->setOption(Memcached::OPT_PREFIX_KEY, 'tenant:');
        $cache->setOption(Memcached::OPT_COMPRESSION, false);
        $cache->setOption(Memcached::OPT_SERIALIZER, Memcached::SERIALIZER_JSON);
        $cache->setOptions([
            Memcached::OPT_STORE_RETRY_COUNT => 3,
            Memcached::OPT_LIBKETAMA_COMPATIBLE => true,
        ]);
        $cache->set('secret', 'of a tenant');
    }
    echo json_encode([
        $cache->get('secret'),
        $cache->getOption(Memcached::OPT_PREFIX_KEY),
        $cache->getOption(Memcached::OPT_COMPRESSION),
        $cache->getOption(Memcached::OPT_SERIALIZER) === Memcached::SERIALIZER_JSON,
        $cache->getOption(Memcached::OPT_STORE_RETRY_COUNT),
        $cache->getOption(Memcached::OPT_LIBKETAMA_COMPATIBLE),
        $cache->getOption(Memcached::OPT_HASH),
        $cache->getOption(Memcached::OPT_DISTRIBUTION),
    ]);
})) {
}
--HOWDAH--
option concurrency 2
worker {ROOT}/test.php
var QUERY_STRING n=show
push one
await one
var QUERY_STRING n=set
push two
await two
push three
await three
var QUERY_STRING n=show
push four
await four
stop
--EXPECT--
one: [false,"options:",true,false,0,0,0,0]
two: ["of a tenant","tenant:",false,true,3,1,1,5]
three: ["of a tenant","tenant:",false,true,3,1,1,5]
four: [false,"options:",true,false,0,0,0,0]
