--TEST--
Worker mode: an SQLite file with prepared statements is not to be forked
--SKIPIF--
<?php
if (!extension_loaded('pdo_sqlite')) {
    echo 'skip pdo_sqlite is not loaded';
}
--FILE--
<?php
$memory = new PDO('sqlite::memory:');
$fine = $memory->prepare('SELECT 1');
$file = new PDO('sqlite:' . __DIR__ . '/file.db');
$statement = $file->prepare('SELECT 1');
while (frankenphp_handle_request(fn () => print 'served')) {
}
--HOWDAH--
worker {ROOT}/test.php
run
--EXPECT--
[unfit: the worker script left sqlite (PDO) open, with prepared statements that would be lost when a worker reopens it]
