--TEST--
Worker mode: a PDO connection to MySQL with a temporary table is not to be forked
--SKIPIF--
<?php
if (!extension_loaded('pdo_mysql')) {
    echo 'skip pdo_mysql is not loaded';
} elseif (!getenv('HOWDAH_TEST_MYSQL')) {
    echo 'skip HOWDAH_TEST_MYSQL is not set, e.g. to "host=127.0.0.1 port=3306 user=test password=test dbname=test"';
}
--FILE--
<?php
preg_match_all('/(\w+)=(\S+)/', getenv('HOWDAH_TEST_MYSQL'), $found);
$mysql = array_combine($found[1], $found[2]);
$pdo = new PDO("mysql:host={$mysql['host']};port={$mysql['port']};dbname={$mysql['dbname']}", $mysql['user'], $mysql['password'], []);
$pdo->exec('SELECT 1; CREATE OR REPLACE TEMPORARY TABLE t (a INT)');
while (frankenphp_handle_request(fn () => print 'served')) {
}
--HOWDAH--
worker {ROOT}/test.php
run
--EXPECT--
[unfit: the worker script left mysql (PDO) open, with a setting made by CREATE TEMPORARY, which would be lost when a worker reconnects]
