--TEST--
Worker mode: an SQLite file with an unreadable setting of the connection must not be forked
--SKIPIF--
<?php
if (!extension_loaded('pdo_sqlite')) {
    echo 'skip pdo_sqlite is not loaded';
}
--FILE--
<?php
$memory = new PDO('sqlite::memory:');
$memory->exec('PRAGMA synchronous = OFF');
$pdo = new PDO('sqlite:' . __DIR__ . '/file.db');
$pdo->exec('PRAGMA foreign_keys = ON; PRAGMA main.synchronous = OFF');
while (frankenphp_handle_request(fn () => print 'served')) {
}
--HOWDAH--
worker {ROOT}/test.php
run
--EXPECT--
[unfit: the worker script left sqlite (PDO) open, with a setting made by PRAGMA, which would be lost when a worker reconnects]
