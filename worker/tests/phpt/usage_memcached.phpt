--TEST--
Queries and time in Memcached are those of the request
--SKIPIF--
<?php
if (!extension_loaded('memcached')) {
    echo 'skip memcached is not loaded';
} elseif (!getenv('HOWDAH_TEST_MEMCACHED')) {
    echo 'skip HOWDAH_TEST_MEMCACHED is not set, e.g. to "127.0.0.1:11211"';
}
--FILE--
<?php
function work(): int
{
    [$host, $port] = explode(':', getenv('HOWDAH_TEST_MEMCACHED'));
    $cache = new Memcached();
    $cache->addServer($host, (int) $port);
    $cache->set('howdah-usage', 'a');
    return $cache->get('howdah-usage') === 'a' ? 0 : -1;
}

echo $_GET['how'] === 'none' ? 'none' : work() . ' expected';
--HOWDAH--
show share
var QUERY_STRING how=none
run
var QUERY_STRING how=some
run
run
var QUERY_STRING how=none
run
--EXPECT--
none
[0 queries, no time in databases]
0 expected
[0 queries, some of its time in databases]
0 expected
[0 queries, some of its time in databases]
none
[0 queries, no time in databases]
