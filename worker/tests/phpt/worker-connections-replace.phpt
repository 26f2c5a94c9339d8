--TEST--
Worker mode: a worker whose connection was closed by the server leaves a request to its successor
--SKIPIF--
<?php
if (!extension_loaded('pdo_pgsql') || !extension_loaded('pgsql')) {
    echo 'skip pgsql or pdo_pgsql is not loaded';
} elseif (!getenv('HOWDAH_TEST_PGSQL')) {
    echo 'skip HOWDAH_TEST_PGSQL is not set, e.g. to "host=127.0.0.1 port=5432 user=test dbname=test"';
}
--FILE--
<?php
$server = getenv('HOWDAH_TEST_PGSQL');
$pdo = new PDO("pgsql:$server");
while (frankenphp_handle_request(function () use ($pdo, $server) {
    echo $pdo->query('SELECT 7')->fetchColumn();
    $other = new PDO("pgsql:$server");
    $other->exec('SELECT pg_terminate_backend(' . $pdo->query('SELECT pg_backend_pid()')->fetchColumn() . ', 60000)');
})) {
}
--HOWDAH--
worker {ROOT}/test.php
show log exit
run
run
respawn
run
--EXPECT--
7
[log d 0] cut off 1 inherited sockets, reconnected 0 datagram sockets
[log d 0] reconnected pgsql (PDO), which the worker script had left open
[worker died; started=0]
[log w 0] the connection of pgsql (PDO) was closed by its server; the worker is replaced
[worker exited with status 0]
7
[log d 0] cut off 1 inherited sockets, reconnected 0 datagram sockets
[log d 0] reconnected pgsql (PDO), which the worker script had left open
