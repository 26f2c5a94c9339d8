--TEST--
Worker mode: workers have private MySQL connections, and do not close those of the zygote
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
$pdo = new PDO("mysql:host={$mysql['host']};port={$mysql['port']};dbname={$mysql['dbname']}", $mysql['user'], $mysql['password'],
    [constant(PHP_VERSION_ID < 80400 ? 'PDO::MYSQL_ATTR_INIT_COMMAND' : 'Pdo\Mysql::ATTR_INIT_COMMAND') => "SET time_zone = '+03:00'"]);
$statement = $pdo->prepare('SELECT ?');
$boot = $pdo->query('SELECT connection_id()')->fetchColumn();
while (frankenphp_handle_request(function () use ($pdo, $boot, $statement) {
    $statement->execute([8]);
    echo $statement->fetchColumn(), ' ', $pdo->query('SELECT @@time_zone')->fetchColumn(), ' ',
        $pdo->query('SELECT connection_id()')->fetchColumn() === $boot ? 'shared' : 'own', ' ',
        $pdo->query("SELECT count(*) FROM information_schema.processlist WHERE id = $boot")->fetchColumn();
})) {
}
--HOWDAH--
worker {ROOT}/test.php
max-requests 1
run
wait-exit
respawn
run
--EXPECT--
8 +03:00 own 1
8 +03:00 own 1
