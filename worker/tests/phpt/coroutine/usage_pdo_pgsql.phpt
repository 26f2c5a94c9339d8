--TEST--
Coroutines: queries and time in PDO for PostgreSQL are those of the request, though others run meanwhile
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
one: 4 expected
[4 queries, some of its time in databases]
two: 4 expected
[4 queries, some of its time in databases]
release: 
[0 queries, no time in databases]
none: none
[0 queries, no time in databases]
