--TEST--
Worker mode: an SQLite file with user-defined functions must not be forked
--SKIPIF--
<?php
if (!extension_loaded('pdo_sqlite')) {
    echo 'skip pdo_sqlite is not loaded';
}
--FILE--
<?php
$memory = new PDO('sqlite::memory:');
$file = new PDO('sqlite:' . __DIR__ . '/file.db');
$file->sqliteCreateFunction('f', fn () => 1);
while (frankenphp_handle_request(fn () => print 'served')) {
}
--HOWDAH--
worker {ROOT}/test.php
run
--EXPECT--
[unfit: the worker script left sqlite (PDO) open, with functions or collations that would be lost when a worker reopens it]
