--TEST--
Coroutines: queries and time in Redis are those of the request, though others run meanwhile
--SKIPIF--
<?php
if (!extension_loaded('redis')) {
    echo 'skip redis is not loaded';
} elseif (!getenv('HOWDAH_TEST_REDIS')) {
    echo 'skip HOWDAH_TEST_REDIS is not set, e.g. to "127.0.0.1:6379"';
}
--FILE--
<?php
function work(): int
{
    [$host, $port] = explode(':', getenv('HOWDAH_TEST_REDIS'));
    $redis = new Redis();
    $redis->connect($host, (int) $port);
    // Commands are no SQL, EXEC neither.
    $redis->set('howdah-usage', 'a');
    $found = $redis->multi()->get('howdah-usage')->exec();
    return $found === ['a'] ? 0 : -1;
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
