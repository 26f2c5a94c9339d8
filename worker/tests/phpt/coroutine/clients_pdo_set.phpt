--TEST--
Coroutines: a warning reports that settings of the boot are missing on the PDO connections of requests
--SKIPIF--
<?php
if (!extension_loaded('pdo_pgsql')) {
    echo 'skip pdo_pgsql is not loaded';
} elseif (!getenv('HOWDAH_TEST_PGSQL')) {
    echo 'skip HOWDAH_TEST_PGSQL is not set, e.g. to "host=127.0.0.1 port=5432 user=test dbname=test"';
}
--FILE--
<?php
$pdo = new PDO('pgsql:' . getenv('HOWDAH_TEST_PGSQL'));
$pdo->exec('SET search_path = pg_catalog');
while (frankenphp_handle_request(fn () => print 'served')) {
}
--HOWDAH--
show log
option concurrency 2
worker {ROOT}/test.php
run
--EXPECTREGEX--
\[log w 0\] the setting that the worker script made by SET on pgsql \(PDO\) is missing on the connections of requests: set it by the constructor's options, or in each request\nserved\n[\s\S]*
