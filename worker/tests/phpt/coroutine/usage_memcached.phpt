--TEST--
Coroutines: queries and time in Memcached are those of the request, though others run meanwhile
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

exec('mkfifo gate');
while (frankenphp_handle_request(static function () {
    if ($_GET['how'] === 'none') {
        // It waits while others call the database.
        echo trim(fgets(fopen('gate', 'r')));
    } elseif ($_GET['how'] === 'release') {
        file_put_contents('gate', "none\n");
    } else {
        echo work(), ' expected';
    }
})) {
}
--HOWDAH--
option concurrency 4
worker {ROOT}/test.php
show share
var QUERY_STRING how=none
push none
var QUERY_STRING how=some
push one
push two
await one
await two
var QUERY_STRING how=release
push release
await release
await none
--EXPECT--
one: 0 expected
[0 queries, some of its time in databases]
two: 0 expected
[0 queries, some of its time in databases]
release: 
[0 queries, no time in databases]
none: none
[0 queries, no time in databases]
