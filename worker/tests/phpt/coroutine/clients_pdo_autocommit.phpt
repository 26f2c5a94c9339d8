--TEST--
Coroutines: a connection that is created while no request uses the PDO object commits automatically, like the first one (mysql)
--SKIPIF--
<?php
if (!extension_loaded('pdo_mysql')) {
    echo 'skip pdo_mysql is not loaded';
} elseif (!getenv('HOWDAH_TEST_MYSQL')) {
    echo 'skip HOWDAH_TEST_MYSQL is not set, e.g. to "host=127.0.0.1 port=3306 user=test password=test dbname=test"';
}
--FILE--
<?php
parse_str(str_replace(' ', '&', getenv('HOWDAH_TEST_MYSQL')), $to);
$dsn = "mysql:host={$to['host']};port={$to['port']};dbname={$to['dbname']}";
$pdo = new PDO($dsn, $to['user'], $to['password']);
while (frankenphp_handle_request(static function () use ($pdo, $dsn, $to) {
    echo $pdo->query('SELECT @@autocommit')->fetchColumn();
    // The server ends the connection: the next request has another.
    $id = $pdo->query('SELECT CONNECTION_ID()')->fetchColumn();
    $other = new PDO($dsn, $to['user'], $to['password']);
    $other->exec("KILL $id");
    do {
        $left = $other->query("SELECT count(*) FROM information_schema.processlist WHERE id = $id")->fetchColumn();
    } while ($left);
})) {
}
--HOWDAH--
option concurrency 2
worker {ROOT}/test.php
run
run
run
--EXPECT--
1
1
1
