--TEST--
Worker mode: a pgsql connection with a setting made by a function is not to be forked
--SKIPIF--
<?php
if (!extension_loaded('pdo_pgsql') || !extension_loaded('pgsql')) {
    echo 'skip pgsql or pdo_pgsql is not loaded';
} elseif (!getenv('HOWDAH_TEST_PGSQL')) {
    echo 'skip HOWDAH_TEST_PGSQL is not set, e.g. to "host=127.0.0.1 port=5432 user=test dbname=test"';
}
--FILE--
<?php
$plain = pg_connect(getenv('HOWDAH_TEST_PGSQL'));
pg_query_params("SELECT set_config('app.user', $1, false)", ['me']);
while (frankenphp_handle_request(fn () => print 'served')) {
}
--HOWDAH--
worker {ROOT}/test.php
run
--EXPECT--
[unfit: the worker script left pgsql (PgSql\Connection) open, with a setting made by set_config(), which would be lost when a worker reconnects]
