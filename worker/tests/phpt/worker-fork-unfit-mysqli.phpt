--TEST--
Worker mode: an open mysqli connection is not to be forked
--SKIPIF--
<?php
if (!extension_loaded('pdo_mysql') || !extension_loaded('mysqli')) {
    echo 'skip mysqli or pdo_mysql is not loaded';
} elseif (!getenv('HOWDAH_TEST_MYSQL')) {
    echo 'skip HOWDAH_TEST_MYSQL is not set, e.g. to "host=127.0.0.1 port=3306 user=test password=test dbname=test"';
}
--FILE--
<?php
preg_match_all('/(\w+)=(\S+)/', getenv('HOWDAH_TEST_MYSQL'), $found);
$mysql = array_combine($found[1], $found[2]);
$closed = new mysqli($mysql['host'], $mysql['user'], $mysql['password'], $mysql['dbname'], (int) $mysql['port']);
$closed->close();
$open = new mysqli($mysql['host'], $mysql['user'], $mysql['password'], $mysql['dbname'], (int) $mysql['port']);
while (frankenphp_handle_request(fn () => print 'served')) {
}
--HOWDAH--
worker {ROOT}/test.php
run
--EXPECT--
[unfit: the worker script left mysqli (mysqli) open, which a worker cannot reconnect]
