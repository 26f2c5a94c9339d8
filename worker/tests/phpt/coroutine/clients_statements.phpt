--TEST--
Coroutines: a prepared statement of the boot, of mysqli and SQLite3: each request has the values that it has bound
--SKIPIF--
<?php
if (!extension_loaded('mysqli')) {
    echo 'skip mysqli is not loaded';
} elseif (!getenv('HOWDAH_TEST_MYSQL')) {
    echo 'skip HOWDAH_TEST_MYSQL is not set, e.g. to "host=127.0.0.1 port=3306 user=test password=test dbname=test"';
} elseif (!extension_loaded('sqlite3')) {
    echo 'skip sqlite3 is not loaded';
}
--INI--
howdah.pool_wait=60
--FILE--
<?php
preg_match_all('/(\w+)=(\S+)/', getenv('HOWDAH_TEST_MYSQL'), $found);
$server = array_combine($found[1], $found[2]);
mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);
$db = $one = $two = null;
howdah_after_fork(function () use (&$db, &$one, &$two, $server) {
    $db = new mysqli($server['host'], $server['user'], $server['password'], $server['dbname'], (int) $server['port']);
    $one = $db->prepare('SELECT ?, SLEEP(0.001)');
    $two = mysqli_prepare($db, 'SELECT ? UNION ALL SELECT 8 UNION ALL SELECT 9');
});
$lite = $three = null;
howdah_after_fork(function () use (&$lite, &$three) {
    $lite = new SQLite3(':memory:');
    $three = $lite->prepare('SELECT :n UNION ALL SELECT 8 UNION ALL SELECT 9');
});
while (frankenphp_handle_request(static function () use (&$db, &$one, &$two, &$lite, &$three) {
    $n = $_GET['n'];
    $found = [];
    for ($i = 0; $i < 3; $i++) {
        $value = "$n.$i";
        $one->bind_param('s', $value);
        usleep(500);
        $one->execute();
        $found[] = $one->get_result()->fetch_row()[0];
        $own = $db->prepare('SELECT ?'); // it holds the connection no longer than its calls
        $own->bind_param('s', $value);
        $own->execute();
        $found[] = $own->get_result()->fetch_row()[0];
    }
    mysqli_stmt_bind_param($two, 's', $n);
    usleep(500);
    mysqli_stmt_execute($two);
    mysqli_stmt_store_result($two);
    mysqli_stmt_bind_result($two, $row);
    while (mysqli_stmt_fetch($two)) {
        usleep(500);
        $found[] = $row;
    }
    $three->bindValue(':n', $n);
    usleep(500);
    $rows = $three->execute();
    while ($row = $rows->fetchArray(SQLITE3_NUM)) {
        usleep(500);
        $found[] = $row[0];
    }
    echo implode(' ', $found);
})) {
}
--HOWDAH--
show exit
option concurrency 6
worker {ROOT}/test.php
var REQUEST_URI /1
var QUERY_STRING n=1
push r1
var REQUEST_URI /2
var QUERY_STRING n=2
push r2
var REQUEST_URI /3
var QUERY_STRING n=3
push r3
var REQUEST_URI /4
var QUERY_STRING n=4
push r4
var REQUEST_URI /5
var QUERY_STRING n=5
push r5
var REQUEST_URI /6
var QUERY_STRING n=6
push r6
await all
stop
--EXPECT--
r1: 1.0 1.0 1.1 1.1 1.2 1.2 1 8 9 1 8 9
r2: 2.0 2.0 2.1 2.1 2.2 2.2 2 8 9 2 8 9
r3: 3.0 3.0 3.1 3.1 3.2 3.2 3 8 9 3 8 9
r4: 4.0 4.0 4.1 4.1 4.2 4.2 4 8 9 4 8 9
r5: 5.0 5.0 5.1 5.1 5.2 5.2 5 8 9 5 8 9
r6: 6.0 6.0 6.1 6.1 6.2 6.2 6 8 9 6 8 9
[worker exited with status 0]
