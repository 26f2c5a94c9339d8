--TEST--
Coroutines: pg_connect() and pg_pconnect() give each request a private connection, and functions without one use the request's last
--SKIPIF--
<?php
if (!extension_loaded('pgsql')) {
    echo 'skip pgsql is not loaded';
} elseif (!getenv('HOWDAH_TEST_PGSQL')) {
    echo 'skip HOWDAH_TEST_PGSQL is not set, e.g. to "host=127.0.0.1 port=5432 user=test dbname=test"';
}
--INI--
error_reporting=8191
--FILE--
<?php
$boot = pg_connect(getenv('HOWDAH_TEST_PGSQL'));
$pids = [];
while (frankenphp_handle_request(static function () use ($boot, &$pids) {
    $n = (int) $_GET['n'];
    $wrong = [];
    if ($n % 2) {
        $connect = $n % 4 === 1 ? 'pg_connect' : 'pg_pconnect';
        $db = $connect(getenv('HOWDAH_TEST_PGSQL'));
        $wrong = $connect(getenv('HOWDAH_TEST_PGSQL')) === $db ? [] : ['another one'];
        pg_query('CREATE TEMPORARY TABLE t (n int)');
        usleep(1000);
        pg_query("INSERT INTO t VALUES ($n)");
        $rows = pg_fetch_all_columns(pg_query($db, 'SELECT n FROM t, pg_sleep(0.002)'));
        if ($rows !== ["$n"]) {
            $wrong[] = json_encode($rows);
        }
    }
    for ($i = 0; $n % 2 === 0 && $i < 5; $i++) {
        $row = pg_fetch_result(pg_query("SELECT $n, pg_sleep(0.001)"), 0, 0);
        if ($row !== "$n") {
            $wrong[] = $row;
        }
        usleep(500);
    }
    echo $wrong ? implode(' ', $wrong) : 'right';
})) {
}
--HOWDAH--
show exit
option concurrency 12
worker {ROOT}/test.php
var QUERY_STRING n=1
var REQUEST_URI /1
push r1
var QUERY_STRING n=2
var REQUEST_URI /2
push r2
var QUERY_STRING n=3
var REQUEST_URI /3
push r3
var QUERY_STRING n=4
var REQUEST_URI /4
push r4
var QUERY_STRING n=5
var REQUEST_URI /5
push r5
var QUERY_STRING n=6
var REQUEST_URI /6
push r6
var QUERY_STRING n=7
var REQUEST_URI /7
push r7
var QUERY_STRING n=8
var REQUEST_URI /8
push r8
var QUERY_STRING n=9
var REQUEST_URI /9
push r9
var QUERY_STRING n=10
var REQUEST_URI /10
push r10
var QUERY_STRING n=11
var REQUEST_URI /11
push r11
var QUERY_STRING n=12
var REQUEST_URI /12
push r12
await all
stop
--EXPECTREGEX--
(r\d+: right\n){12}\[worker exited with status 0\]
