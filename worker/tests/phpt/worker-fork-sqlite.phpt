--TEST--
Worker mode: a worker opens an SQLite file again with its settings, and keeps a database in memory
--SKIPIF--
<?php
if (!extension_loaded('pdo_sqlite')) {
    echo 'skip pdo_sqlite is not loaded';
}
--FILE--
<?php
$memory = new PDO('sqlite::memory:');
$memory->exec('CREATE TABLE t (a); INSERT INTO t VALUES (3)');
$file = new PDO('sqlite:' . __DIR__ . '/file.db', null, null, [PDO::ATTR_TIMEOUT => 7]);
$file->exec('PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON; CREATE TABLE t (a)');
$descriptors = fn () => array_filter(array_map(fn ($path) => @readlink($path), glob('/proc/self/fd/*')), fn ($path) => is_string($path) && str_contains($path, 'file.db'));
while (frankenphp_handle_request(function () use ($memory, $file, $descriptors) {
    $file->exec('INSERT INTO t VALUES (1)');
    echo $memory->query('SELECT a FROM t')->fetchColumn(), ' ', $file->query('SELECT count(*) FROM t')->fetchColumn(), ' ',
        $file->query('PRAGMA foreign_keys')->fetchColumn(), ' ', $file->query('PRAGMA busy_timeout')->fetchColumn(), ' ',
        $file->query('PRAGMA integrity_check')->fetchColumn(), ' ', count(array_unique($descriptors()));
})) {
}
--HOWDAH--
worker {ROOT}/test.php
max-requests 2
run
run
wait-exit
respawn
run
--EXPECT--
3 1 1 7000 ok 3
3 2 1 7000 ok 3
3 3 1 7000 ok 3
