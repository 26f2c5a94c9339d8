--TEST--
Worker mode: a pgsql connection with a named statement is not to be forked
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
$fine = pg_connect($server, PGSQL_CONNECT_FORCE_NEW);
pg_query("SET TIME ZONE 'Asia/Tokyo'");
$plain = pg_connect($server, PGSQL_CONNECT_FORCE_NEW);
pg_prepare($plain, 'named', 'SELECT 1');
while (frankenphp_handle_request(fn () => print 'served')) {
}
--HOWDAH--
worker {ROOT}/test.php
run
--EXPECT--
[unfit: the worker script left pgsql (PgSql\Connection) open, with prepared statements that would be lost when a worker reconnects]
