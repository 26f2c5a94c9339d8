--TEST--
Coroutines: one pgsql connection for all requests: calls wait in turn, transactions stay whole
--SKIPIF--
<?php
if (!extension_loaded('pgsql')) {
    echo 'skip pgsql is not loaded';
} elseif (!getenv('HOWDAH_TEST_PGSQL')) {
    echo 'skip HOWDAH_TEST_PGSQL is not set, e.g. to "host=127.0.0.1 port=5432 user=test dbname=test"';
}
--INI--
howdah.pool_wait=60
--FILE--
<?php
$db = pg_connect(getenv('HOWDAH_TEST_PGSQL'));
pg_prepare($db, 'ten', 'SELECT $1::int * 10, pg_sleep(0.002)');
howdah_after_fork(static function () use ($db) {
    pg_prepare($db, 'ten', 'SELECT $1::int * 10, pg_sleep(0.002)');
    pg_query($db, 'CREATE TEMPORARY TABLE t (n int)');
});
while (frankenphp_handle_request(static function () use ($db) {
    $n = (int) $_GET['n'];
    $wrong = [];
    $is = static function ($what, $expected, $found) use (&$wrong) {
        if ($expected !== $found) {
            $wrong[] = "$what: " . var_export($found, true);
        }
    };
    for ($i = 0; $i < 5; $i++) {
        $is('query', (string) $n, pg_fetch_result(pg_query($db, "SELECT $n, pg_sleep(0.002)"), 0, 0));
        $is('prepared', (string) (10 * $n), pg_fetch_result(pg_execute($db, 'ten', [$n]), 0, 0));
    }
    pg_send_query($db, "SELECT $n, pg_sleep(0.002)");
    usleep(2000);
    $is('sent', (string) $n, pg_fetch_result(pg_get_result($db), 0, 0));
    while (pg_get_result($db));
    pg_query($db, 'BEGIN');
    $before = pg_fetch_result(pg_query($db, 'SELECT count(*) FROM t'), 0, 0);
    usleep(2000);
    pg_query($db, "INSERT INTO t VALUES ($n)");
    usleep(2000);
    $is('transaction', (string) ($before + 1), pg_fetch_result(pg_query($db, 'SELECT count(*) FROM t'), 0, 0));
    if ($n % 2) {
        pg_query($db, 'COMMIT');
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
