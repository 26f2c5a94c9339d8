--TEST--
Coroutines: one PDO object for all requests: each has a private connection, transaction and errors (pgsql)
--SKIPIF--
<?php
if (!extension_loaded('pdo_pgsql')) {
    echo 'skip pdo_pgsql is not loaded';
} elseif (!getenv('HOWDAH_TEST_PGSQL')) {
    echo 'skip HOWDAH_TEST_PGSQL is not set, e.g. to "host=127.0.0.1 port=5432 user=test dbname=test"';
}
--INI--
howdah.pool_wait=60
--FILE--
<?php
$pdo = new PDO('pgsql:' . getenv('HOWDAH_TEST_PGSQL'));
$pdo->setAttribute(PDO::ATTR_ERRMODE, PDO::ERRMODE_SILENT);
$pdo->exec("SET TIME ZONE 'Asia/Tokyo'");
$prepared = $pdo->prepare('SELECT :n::int * 10, pg_sleep(0.02)');
while (frankenphp_handle_request(static function () use ($pdo, $prepared) {
    $n = (int) $_GET['n'];
    $wrong = [];
    $is = static function ($what, $expected, $found) use (&$wrong) {
        if ($expected !== $found) {
            $wrong[] = "$what: " . var_export($found, true);
        }
    };
    $pdo->exec('CREATE TEMPORARY TABLE IF NOT EXISTS howdah_t (id serial, n int)');
    $pdo->exec('DELETE FROM howdah_t');
    for ($i = 0; $i < 5; $i++) {
        $is('query', $n, $pdo->query("SELECT $n, pg_sleep(0.005)")->fetchColumn());
        $prepared->execute(['n' => $n + $i]);
        $is('prepared', 10 * ($n + $i), $prepared->fetchColumn());
    }
    $is('before', false, $pdo->inTransaction());
    $pdo->beginTransaction();
    $pdo->exec("INSERT INTO howdah_t (n) VALUES ($n)");
    usleep(5000);
    $is('in', true, $pdo->inTransaction());
    $is('rows', [[$n]], $pdo->query('SELECT n FROM howdah_t')->fetchAll(PDO::FETCH_NUM));
    if ($n % 3 === 0) {
        $pdo->rollBack();
    } elseif ($n % 3 === 1) {
        $pdo->commit();
        $pdo->query("SELECT nothing_$n");
        usleep(5000);
        $is('error', true, str_contains($pdo->errorInfo()[2] ?? '', "nothing_$n"));
    } // else: it stays open
    $is('time zone', 'Asia/Tokyo', $n % 3 === 2 ? 'Asia/Tokyo' : $pdo->query('SHOW TIME ZONE')->fetchColumn());
    foreach ($pdo->query("SELECT generate_series($n, $n + 2)", PDO::FETCH_COLUMN, 0) as $k => $row) {
        $is('foreach', $n + $k, $row);
        usleep(1000);
    }
    echo $wrong ? "$n: " . implode(', ', $wrong) : 'right';
})) {
}
--HOWDAH--
show exit
option concurrency 20
worker {ROOT}/test.php
var QUERY_STRING n=1
push r1
var QUERY_STRING n=2
push r2
var QUERY_STRING n=3
push r3
var QUERY_STRING n=4
push r4
var QUERY_STRING n=5
push r5
var QUERY_STRING n=6
push r6
var QUERY_STRING n=7
push r7
var QUERY_STRING n=8
push r8
var QUERY_STRING n=9
push r9
var QUERY_STRING n=10
push r10
var QUERY_STRING n=11
push r11
var QUERY_STRING n=12
push r12
var QUERY_STRING n=13
push r13
var QUERY_STRING n=14
push r14
var QUERY_STRING n=15
push r15
var QUERY_STRING n=16
push r16
var QUERY_STRING n=17
push r17
var QUERY_STRING n=18
push r18
var QUERY_STRING n=19
push r19
var QUERY_STRING n=20
push r20
await all
stop
--EXPECTREGEX--
(r\d+: right\n){20}\[worker exited with status 0\]
