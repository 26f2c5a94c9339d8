--TEST--
Coroutines: one mysqli connection for all requests: calls wait in turn, transactions and results stay whole
--SKIPIF--
<?php
if (!extension_loaded('mysqli')) {
    echo 'skip mysqli is not loaded';
} elseif (!getenv('HOWDAH_TEST_MYSQL')) {
    echo 'skip HOWDAH_TEST_MYSQL is not set, e.g. to "host=127.0.0.1 port=3306 user=test password=test dbname=test"';
}
--INI--
howdah.pool_wait=60
--FILE--
<?php
preg_match_all('/(\w+)=(\S+)/', getenv('HOWDAH_TEST_MYSQL'), $found);
$server = array_combine($found[1], $found[2]);
mysqli_report(MYSQLI_REPORT_OFF);
$db = new mysqli($server['host'], $server['user'], $server['password'], $server['dbname'], (int) $server['port']);
$db->query('CREATE OR REPLACE TABLE howdah_mysqli (id int AUTO_INCREMENT PRIMARY KEY, n int) ENGINE=InnoDB');
howdah_after_fork(function () use (&$db, $server) {
    $db = new mysqli($server['host'], $server['user'], $server['password'], $server['dbname'], (int) $server['port']);
});
$db = null;
while (frankenphp_handle_request(static function () use (&$db) {
    $n = (int) $_GET['n'];
    $wrong = [];
    $is = static function ($what, $expected, $found) use (&$wrong) {
        if ($expected !== $found) {
            $wrong[] = "$what: " . var_export($found, true);
        }
    };
    for ($i = 0; $i < 5; $i++) {
        $is('query', (string) $n, $db->query("SELECT $n, SLEEP(0.002)")->fetch_row()[0]);
        $statement = $db->prepare('SELECT ? + 0, SLEEP(0.001)');
        $value = $n + $i;
        $statement->bind_param('i', $value);
        $statement->execute();
        $is('prepared', $value, $statement->get_result()->fetch_row()[0]);
        unset($statement);
    }
    $db->query("INSERT INTO howdah_mysqli (n) VALUES ($n)");
    $id = $db->insert_id;
    $is('id', (string) $n, $db->query("SELECT n FROM howdah_mysqli WHERE id = $id")->fetch_row()[0]);
    $db->begin_transaction();
    $before = $db->query('SELECT COUNT(*) FROM howdah_mysqli')->fetch_row()[0];
    usleep(2000);
    $db->query("INSERT INTO howdah_mysqli (n) VALUES ($n)");
    usleep(2000);
    $is('transaction', (string) ($before + 1), $db->query('SELECT COUNT(*) FROM howdah_mysqli')->fetch_row()[0]);
    if ($n % 3 < 2) {
        $db->rollback();
        $result = mysqli_query($db, "SELECT $n UNION ALL SELECT SLEEP(0.002) UNION ALL SELECT $n", MYSQLI_USE_RESULT);
        $rows = [];
        while ($row = mysqli_fetch_row($result)) {
            $rows[] = $row[0];
            usleep(1000);
        }
        $is('unbuffered', ["$n", '0', "$n"], $rows);
    } // else: it stays open
    echo $wrong ? "$n: " . implode(', ', $wrong) : 'right';
})) {
}
--HOWDAH--
show exit
option concurrency 12
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
var REQUEST_URI /7
var QUERY_STRING n=7
push r7
var REQUEST_URI /8
var QUERY_STRING n=8
push r8
var REQUEST_URI /9
var QUERY_STRING n=9
push r9
var REQUEST_URI /10
var QUERY_STRING n=10
push r10
var REQUEST_URI /11
var QUERY_STRING n=11
push r11
var REQUEST_URI /12
var QUERY_STRING n=12
push r12
await all
stop
--EXPECTREGEX--
(r\d+: right\n){12}\[worker exited with status 0\]
