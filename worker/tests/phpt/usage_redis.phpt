--TEST--
Queries and time in Redis are those of the request
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
