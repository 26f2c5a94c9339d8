--TEST--
Queries and time in PDO for PostgreSQL are those of the request
--SKIPIF--
<?php
if (!extension_loaded('pdo_pgsql')) {
    echo 'skip pdo_pgsql is not loaded';
} elseif (!getenv('HOWDAH_TEST_PGSQL')) {
    echo 'skip HOWDAH_TEST_PGSQL is not set, e.g. to "host=127.0.0.1 port=5432 user=test dbname=test"';
}
--FILE--
<?php
function work(): int
{
    $db = new PDO('pgsql:' . strtr(getenv('HOWDAH_TEST_PGSQL'), ' ', ';'));
    $count = (int) $db->query('SELECT 1')->fetchColumn();
    $count += $db->exec('CREATE TEMPORARY TABLE howdah_usage (n int)') + 1;
    $statement = $db->prepare('SELECT 1');
    foreach ([1, 2] as $_) {
        $statement->execute();
        $count += $statement->fetchAll(PDO::FETCH_COLUMN)[0];
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
4 expected
[4 queries, some of its time in databases]
4 expected
[4 queries, some of its time in databases]
none
[0 queries, no time in databases]
