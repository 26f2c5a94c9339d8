--TEST--
Coroutines: statements that are kept serve later requests with their own values, on connections of earlier ones (pgsql)
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
$pdo = new PDO('pgsql:' . getenv('HOWDAH_TEST_PGSQL'), null, null, [PDO::ATTR_EMULATE_PREPARES => false]);
$kept = new stdClass();
// So that they live to the very end, at which PHP frees the connection before its statements.
$kept->cycle = [$kept, $pdo];
$kept->boot = $pdo->prepare('SELECT ?::text || ?::text, pg_sleep(0.005)');
while (frankenphp_handle_request(static function () use ($pdo, $kept) {
    $kept->positional ??= $pdo->prepare('SELECT ?::text || ?::text, pg_sleep(0.005)');
    $kept->named ??= $pdo->prepare('SELECT :one::text || :other::text, pg_sleep(0.005)');
    $wrong = [];
    for ($i = 0; $i < 3; $i++) {
        // Strings that are gone when the request is.
        $one = str_repeat("{$_GET['n']} of $i,", 5);
        $other = strrev($one);
        $kept->boot->execute([$one, $other]);
        $found = [$kept->boot->fetchColumn()];
        $kept->positional->execute([$one, $other]);
        $found[] = $kept->positional->fetchColumn();
        $kept->named->execute(['other' => $other, 'one' => $one]);
        $found[] = $kept->named->fetchColumn();
        $kept->named->bindValue('one', $one);
        $kept->named->bindValue('other', $other);
        $kept->named->execute();
        $found[] = $kept->named->fetchColumn();
        $wrong += array_filter($found, static fn ($text) => $text !== $one . $other);
    }
    echo $wrong ? $_GET['n'] . ' got ' . implode(', ', $wrong) : 'right';
})) {
}
--HOWDAH--
show exit
option concurrency 4
worker {ROOT}/test.php
var QUERY_STRING n=1
push r1
var QUERY_STRING n=2
push r2
var QUERY_STRING n=3
push r3
var QUERY_STRING n=4
push r4
await all
var QUERY_STRING n=5
push r5
var QUERY_STRING n=6
push r6
var QUERY_STRING n=7
push r7
var QUERY_STRING n=8
push r8
await all
var QUERY_STRING n=9
push r9
var QUERY_STRING n=10
push r10
var QUERY_STRING n=11
push r11
var QUERY_STRING n=12
push r12
await all
stop
--EXPECTREGEX--
(r\d+: right\n){12}\[worker exited with status 0\]
