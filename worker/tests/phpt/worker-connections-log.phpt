--TEST--
Worker mode: a rollback is logged with the driver, the class and the id of the request
--SKIPIF--
<?php
if (!extension_loaded('pdo_sqlite')) {
    echo 'skip pdo_sqlite is not loaded';
}
--FILE--
<?php
class Database extends PDO
{
}
$database = new Database('sqlite::memory:');
while (frankenphp_handle_request(function () use ($database) {
    $database->beginTransaction();
    echo howdah_request_id();
})) {
}
--HOWDAH--
worker {ROOT}/test.php
show log
run
stop
--EXPECT--
0000000000000001
[log w 1] rolled back a transaction that the request left open on sqlite (Database)
