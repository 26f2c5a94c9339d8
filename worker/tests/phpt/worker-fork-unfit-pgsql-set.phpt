--TEST--
Worker mode: a PDO connection to PostgreSQL with a setting of its session is not to be forked
--SKIPIF--
<?php
if (!extension_loaded('pdo_pgsql') || !extension_loaded('pgsql')) {
    echo 'skip pgsql or pdo_pgsql is not loaded';
} elseif (!getenv('HOWDAH_TEST_PGSQL')) {
    echo 'skip HOWDAH_TEST_PGSQL is not set, e.g. to "host=127.0.0.1 port=5432 user=test dbname=test"';
}
--FILE--
<?php
$pdo = new PDO('pgsql:' . getenv('HOWDAH_TEST_PGSQL'));
$pdo->exec("/* where */ -- from\n set SESSION search_path = pg_catalog");
while (frankenphp_handle_request(fn () => print 'served')) {
}
--HOWDAH--
worker {ROOT}/test.php
run
--EXPECT--
[unfit: the worker script left pgsql (PDO) open, with a setting made by SET, which would be lost when a worker reconnects]
