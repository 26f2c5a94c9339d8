--TEST--
Worker mode: an SQLite file with another attached is not to be forked
--SKIPIF--
<?php
if (!extension_loaded('pdo_sqlite')) {
    echo 'skip pdo_sqlite is not loaded';
}
--FILE--
<?php
$pdo = new PDO('sqlite:' . __DIR__ . '/file.db');
$pdo->exec("ATTACH ':memory:' AS other");
while (frankenphp_handle_request(fn () => print 'served')) {
}
--HOWDAH--
worker {ROOT}/test.php
run
--EXPECT--
[unfit: the worker script left sqlite (PDO) open, with a setting made by ATTACH, which would be lost when a worker reconnects]
