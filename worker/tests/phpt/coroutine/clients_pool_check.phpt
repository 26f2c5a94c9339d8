--TEST--
Coroutines: a connection that its server has closed is not used, unless howdah.pool_check or 'check' turns the check off
--SKIPIF--
<?php
if (!extension_loaded('pdo_pgsql') || !extension_loaded('pgsql')) {
    echo 'skip pdo_pgsql or pgsql is not loaded';
} elseif (!getenv('HOWDAH_TEST_PGSQL')) {
    echo 'skip HOWDAH_TEST_PGSQL is not set, e.g. to "host=127.0.0.1 port=5432 user=test dbname=test"';
}
--FILE--
<?php
$dsn = getenv('HOWDAH_TEST_PGSQL');
$open = static fn () => pg_connect($dsn, PGSQL_CONNECT_FORCE_NEW);
$pools = ['default' => howdah_pool($open), 'check' => howdah_pool($open, ['check' => true])];
$databases = ['default' => new PDO("pgsql:$dsn"), 'check' => new PDO("pgsql:$dsn")];
howdah_pool($databases['check'], ['check' => true]);
$ids = new stdClass();
while (frankenphp_handle_request(static function () use ($pools, $databases, $dsn, $ids) {
    if ($_GET['op'] === 'kill') {
        $killer = new PDO("pgsql:$dsn");
        foreach ((array) $ids as $id) {
            $killer->query("SELECT pg_terminate_backend($id, 60000)"); // it answers when the process is gone
        }
        return;
    }
    $answers = [];
    foreach ($pools as $name => $pool) {
        $answers["pool $name"] = static fn () => @pg_query($pool->get(), 'SELECT 1') ? pg_get_pid($pool->get()) : 0;
    }
    foreach ($databases as $name => $database) {
        $answers["PDO $name"] = static fn () => $database->query('SELECT pg_backend_pid()')->fetchColumn();
    }
    foreach ($answers as $name => $answer) {
        try {
            $id = $answer();
        } catch (PDOException) {
            $id = 0;
        }
        if ($_GET['op'] === 'use') {
            $ids->$name = $id;
        } else {
            echo "$name: ", $id ? ($id === $ids->$name ? 'the same' : 'another') : 'dead', "\n";
        }
    }
})) {
}
--INI--
howdah.pool_check=0
--HOWDAH--
show exit
option concurrency 10
option connections 2
worker {ROOT}/test.php
var QUERY_STRING op=use
run
var QUERY_STRING op=again
run
var QUERY_STRING op=kill
run
var QUERY_STRING op=again
run
stop
--EXPECT--

pool default: the same
pool check: the same
PDO default: the same
PDO check: the same


pool default: dead
pool check: another
PDO default: dead
PDO check: another

[worker exited with status 0]
