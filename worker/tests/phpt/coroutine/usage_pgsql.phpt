--TEST--
Coroutines: queries and time in pgsql are those of the request, though others run meanwhile
--SKIPIF--
<?php
if (!extension_loaded('pgsql')) {
    echo 'skip pgsql is not loaded';
} elseif (!getenv('HOWDAH_TEST_PGSQL')) {
    echo 'skip HOWDAH_TEST_PGSQL is not set, e.g. to "host=127.0.0.1 port=5432 user=test dbname=test"';
}
--FILE--
<?php
function work(): int
{
    $db = pg_connect(getenv('HOWDAH_TEST_PGSQL'), PGSQL_CONNECT_FORCE_NEW);
    $count = (int) pg_fetch_result(pg_query($db, 'SELECT 1'), 0, 0);
    $count += (int) pg_fetch_result(pg_exec($db, 'SELECT 1'), 0, 0);
    $count += (int) pg_fetch_result(pg_query_params($db, 'SELECT $1::int', [1]), 0, 0);
    pg_prepare($db, 'one', 'SELECT 1');
    $count += (int) pg_fetch_result(pg_execute($db, 'one', []), 0, 0);
    pg_send_query($db, 'SELECT 1');
    $count += (int) pg_fetch_result(pg_get_result($db), 0, 0);
    pg_get_result($db);
    pg_send_query_params($db, 'SELECT $1::int', [1]);
    $count += (int) pg_fetch_result(pg_get_result($db), 0, 0);
    pg_get_result($db);
    pg_send_execute($db, 'one', []);
    $count += (int) pg_fetch_result(pg_get_result($db), 0, 0);
    pg_get_result($db);
    // pg_insert() and its like find no temporary table.
    $table = 'howdah_usage_' . bin2hex(random_bytes(4));
    $count += pg_query($db, "CREATE TABLE $table (n int)") ? 1 : 0;
    $count += pg_insert($db, $table, ['n' => 1]) ? 1 : 0;
    $count += pg_update($db, $table, ['n' => 2], ['n' => 1]) ? 1 : 0;
    $count += count(pg_select($db, $table, ['n' => 2]));
    $count += pg_delete($db, $table, ['n' => 2]) ? 1 : 0;
    $count += pg_copy_from($db, $table, ["3\n"]) ? 1 : 0;
    $count += count(pg_copy_to($db, $table));
    return $count + (pg_query($db, "DROP TABLE $table") ? 1 : 0);
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
one: 15 expected
[15 queries, some of its time in databases]
two: 15 expected
[15 queries, some of its time in databases]
release: 
[0 queries, no time in databases]
none: none
[0 queries, no time in databases]
