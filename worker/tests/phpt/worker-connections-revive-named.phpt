--TEST--
Worker mode: a pgsql connection with a named statement is not made again when its server has closed it, the worker is replaced
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
$plain = pg_connect($server);
$ask = function () use ($plain) {
    static $named;
    $named ??= pg_prepare($plain, 'named', 'SELECT pg_backend_pid()');
    return pg_fetch_result(pg_execute($plain, 'named', []), 0, 0);
};
while (frankenphp_handle_request(function () use ($ask, $server) {
    $pid = $ask();
    echo $pid > 0 ? 'served' : 'lost';
    $other = new PDO("pgsql:$server");
    $other->exec("SELECT pg_terminate_backend($pid, 60000)");
})) {
}
--HOWDAH--
worker {ROOT}/test.php
option connections 1
show log exit
run
run
respawn
run
--EXPECT--
served
[log d 0] cut off 1 inherited sockets, reconnected 0 datagram sockets
[log d 0] reconnected pgsql (PgSql\Connection), which the worker script had left open
[worker died; started=0]
[log w 0] the connection of pgsql (PgSql\Connection) had been closed by its server and cannot be reconnected: it has prepared statements, which would be lost; the worker is replaced
[worker exited with status 0]
served
[log d 0] cut off 1 inherited sockets, reconnected 0 datagram sockets
[log d 0] reconnected pgsql (PgSql\Connection), which the worker script had left open
