--TEST--
Queries and time in PDO for MySQL are those of the request
--SKIPIF--
<?php
if (!extension_loaded('pdo_mysql')) {
    echo 'skip pdo_mysql is not loaded';
} elseif (!getenv('HOWDAH_TEST_MYSQL')) {
    echo 'skip HOWDAH_TEST_MYSQL is not set, e.g. to "host=127.0.0.1 port=3306 user=test password=test dbname=test"';
}
--FILE--
<?php
function work(): int
{
    preg_match_all('/(\w+)=(\S+)/', getenv('HOWDAH_TEST_MYSQL'), $found);
    $server = array_combine($found[1], $found[2]);
    $db = new PDO(
        "mysql:host={$server['host']};port={$server['port']};dbname={$server['dbname']}",
        $server['user'],
        $server['password'],
    );
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
