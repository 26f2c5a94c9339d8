--TEST--
Coroutines: no request gets the connection of one that crashed: queries, transactions and statements of others stay right
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
$prepared = $pdo->prepare('SELECT :n::int, pg_sleep(0.01)');
$gate = new stdClass();
$gate->here = 0;
while (frankenphp_handle_request(static function () use ($pdo, $prepared, $gate) {
    $n = (int) $_GET['n'];
    // After one has died no more are taken.
    $gate->here++;
    while ($gate->here < 8) {
        usleep(1000);
    }
    $pdo->beginTransaction();
    $wrong = 0;
    for ($i = 0; $i < 10; $i++) {
        $prepared->execute(['n' => $n + $i]);
        $wrong += $prepared->fetchColumn() !== $n + $i;
        if ($n === 3 && $i === 4) {
            ini_set('display_errors', '0');
            eval('class Dies implements Countable {}');
        }
        if ($n === 5 && $i === 5) {
            exit('left');
        }
    }
    echo $wrong || !$pdo->inTransaction() ? 'wrong' : 'right';
})) {
}
--HOWDAH--
show exit
option concurrency 8
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
await all
stop
--EXPECTREGEX--
(r3: \n|r5: left\n|r[124678]: right\n){8}\[worker exited with status 255\]
