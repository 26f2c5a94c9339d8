--TEST--
Queries and time in mysqli are those of the request
--SKIPIF--
<?php
if (!extension_loaded('mysqli')) {
    echo 'skip mysqli is not loaded';
} elseif (!getenv('HOWDAH_TEST_MYSQL')) {
    echo 'skip HOWDAH_TEST_MYSQL is not set, e.g. to "host=127.0.0.1 port=3306 user=test password=test dbname=test"';
}
--FILE--
<?php
function work(): int
{
    preg_match_all('/(\w+)=(\S+)/', getenv('HOWDAH_TEST_MYSQL'), $found);
    $server = array_combine($found[1], $found[2]);
    $db = new mysqli($server['host'], $server['user'], $server['password'], $server['dbname'], (int) $server['port']);
    $count = (int) $db->query('SELECT 1')->fetch_row()[0];
    $count += (int) mysqli_query($db, 'SELECT 1')->fetch_row()[0];
    $db->real_query('SELECT 1');
    $count += (int) $db->store_result()->fetch_row()[0];
    mysqli_real_query($db, 'SELECT 1');
    $count += (int) mysqli_fetch_row(mysqli_store_result($db))[0];
    $db->multi_query('SELECT 1');
    $count += (int) $db->store_result()->fetch_row()[0];
    mysqli_multi_query($db, 'SELECT 1');
    $count += (int) $db->store_result()->fetch_row()[0];
    $count += $db->execute_query('SELECT ? + 0', [1])->fetch_row()[0];
    $count += mysqli_execute_query($db, 'SELECT ? + 0', [1])->fetch_row()[0];
    $statement = $db->prepare('SELECT 1');
    $statement->execute();
    $count += $statement->get_result()->fetch_row()[0];
    mysqli_stmt_execute($statement);
    $count += mysqli_stmt_get_result($statement)->fetch_row()[0];
    mysqli_execute($statement);
    $count += $statement->get_result()->fetch_row()[0];
    return (int) $count;
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
11 expected
[11 queries, some of its time in databases]
11 expected
[11 queries, some of its time in databases]
none
[0 queries, no time in databases]
