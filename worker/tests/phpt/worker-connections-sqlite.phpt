--TEST--
Worker mode: a transaction that a request left open is rolled back, by PDO or behind its back
--SKIPIF--
<?php
if (!extension_loaded('pdo_sqlite')) {
    echo 'skip pdo_sqlite is not loaded';
}
--FILE--
<?php
$database = new PDO('sqlite::memory:');
$database->exec('CREATE TABLE t (a)');
$begin = [fn () => $database->beginTransaction(), fn () => $database->exec('BEGIN'), fn () => null];
while (frankenphp_handle_request(function () use ($database, &$begin) {
    echo $database->query('SELECT count(*) FROM t')->fetchColumn(), ' rows, ',
        $database->inTransaction() ? 'open' : 'idle', ', error ', var_export($database->errorCode(), true);
    array_shift($begin)();
    $database->exec('INSERT INTO t VALUES (1)');
})) {
}
--HOWDAH--
worker {ROOT}/test.php
run
run
run
--EXPECT--
0 rows, idle, error '00000'
0 rows, idle, error '00000'
0 rows, idle, error '00000'
