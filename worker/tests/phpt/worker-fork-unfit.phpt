--TEST--
Worker mode: a worker script with an open resource that no worker can reopen must not be forked
--SKIPIF--
<?php
if (!extension_loaded('sqlite3')) {
    echo 'skip sqlite3 is not loaded';
}
--FILE--
<?php
$memory = new SQLite3(':memory:');
$never = (new ReflectionClass('SQLite3'))->newInstanceWithoutConstructor();
$file = new SQLite3(__DIR__ . '/file.db');
while (frankenphp_handle_request(fn () => print 'served')) {
}
--HOWDAH--
worker {ROOT}/test.php
run
--EXPECT--
[unfit: the worker script left sqlite3 (SQLite3) open, which a worker cannot reopen]
