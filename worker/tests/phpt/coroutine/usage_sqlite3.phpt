--TEST--
Coroutines: queries and time in SQLite3 are those of the request, though others run meanwhile
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
one: 5 expected
[5 queries, some of its time in databases]
two: 5 expected
[5 queries, some of its time in databases]
release: 
[0 queries, no time in databases]
none: none
[0 queries, no time in databases]
