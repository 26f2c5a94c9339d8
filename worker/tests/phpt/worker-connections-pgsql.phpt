--TEST--
Worker mode: transactions and results that a request left on PostgreSQL connections of all kinds
--SKIPIF--
<?php
if (!extension_loaded('pdo_pgsql') || !extension_loaded('pgsql')) {
    echo 'skip pgsql or pdo_pgsql is not loaded';
} elseif (!getenv('HOWDAH_TEST_PGSQL')) {
    echo 'skip HOWDAH_TEST_PGSQL is not set, e.g. to "host=127.0.0.1 port=5432 user=test dbname=test"';
}
--FILE--
<?php
$server = getenv('HOWDAH_TEST_PGSQL');
$pdo = new PDO("pgsql:$server");
$shared = new PDO("pgsql:$server", null, null, [PDO::ATTR_PERSISTENT => true]);
$plain = pg_connect($server);
$persistent = pg_pconnect("$server application_name=howdah-test");
$leave = [
    'transactions' => function () use ($pdo, $shared, $plain, $persistent) {
        $pdo->beginTransaction();
        $shared->exec('BEGIN');
        pg_query($plain, 'BEGIN');
        @pg_query($plain, 'nonsense');
        pg_query($persistent, 'BEGIN');
    },
    'a running query' => fn () => pg_send_query($plain, 'SELECT pg_sleep(60)'),
    'unread results in a transaction' => function () use ($plain) {
        pg_query($plain, 'BEGIN');
        pg_send_query($plain, 'SELECT 1; SELECT 2');
    },
    'a COPY to the server' => function () use ($plain) {
        pg_query($plain, 'CREATE TEMPORARY TABLE t (a int)');
        pg_query($plain, 'COPY t FROM STDIN');
        pg_put_line($plain, "1\n");
    },
    'a COPY from the server' => fn () => pg_send_query($plain, 'COPY (SELECT generate_series(1, 100000)) TO STDOUT'),
    'nothing' => fn () => null,
];
while (frankenphp_handle_request(function () use ($pdo, $shared, $plain, $persistent, &$leave) {
    var_dump($pdo->inTransaction() || $shared->inTransaction());
    echo pg_transaction_status($plain), pg_transaction_status($persistent), ' ',
        pg_fetch_result(pg_query($plain, 'SELECT 7'), 0, 0), ', then ', key($leave);
    array_shift($leave)();
})) {
}
--HOWDAH--
worker {ROOT}/test.php
run
run
run
run
run
run
--EXPECT--
bool(false)
00 7, then transactions
bool(false)
00 7, then a running query
bool(false)
00 7, then unread results in a transaction
bool(false)
00 7, then a COPY to the server
bool(false)
00 7, then a COPY from the server
bool(false)
00 7, then nothing
