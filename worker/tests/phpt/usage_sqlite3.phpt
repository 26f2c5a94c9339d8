--TEST--
Queries and time in SQLite3 are those of the request
--SKIPIF--
<?php
if (!extension_loaded('sqlite3')) {
    echo 'skip sqlite3 is not loaded';
}
--FILE--
<?php
function work(): int
{
    $db = new SQLite3(':memory:');
    $count = $db->exec('CREATE TABLE howdah_usage (n int)') ? 1 : 0;
    $count += $db->query('SELECT 1')->fetchArray()[0];
    $count += $db->querySingle('SELECT 1');
    $statement = $db->prepare('SELECT 1');
    foreach ([1, 2] as $_) {
        $count += $statement->execute()->fetchArray()[0];
    }
    return $count;
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
5 expected
[5 queries, some of its time in databases]
5 expected
[5 queries, some of its time in databases]
none
[0 queries, no time in databases]
