--TEST--
Worker mode: a connection that the server closed is reconnected with the constructor's options, if the pool allows it
--SKIPIF--
<?php
if (!extension_loaded('pdo_pgsql') || !extension_loaded('pgsql') || !extension_loaded('pdo_mysql')) {
    echo 'skip pgsql, pdo_pgsql or pdo_mysql is not loaded';
} elseif (!getenv('HOWDAH_TEST_PGSQL') || !getenv('HOWDAH_TEST_MYSQL')) {
    echo 'skip HOWDAH_TEST_PGSQL or HOWDAH_TEST_MYSQL is not set';
}
--FILE--
<?php
$server = getenv('HOWDAH_TEST_PGSQL');
preg_match_all('/(\w+)=(\S+)/', getenv('HOWDAH_TEST_MYSQL'), $found);
$mysql = array_combine($found[1], $found[2]);
$dsn = "mysql:host={$mysql['host']};port={$mysql['port']};dbname={$mysql['dbname']}";
$connect = fn () => new PDO($dsn, $mysql['user'], $mysql['password'], [constant(PHP_VERSION_ID < 80400 ? 'PDO::MYSQL_ATTR_INIT_COMMAND' : 'Pdo\Mysql::ATTR_INIT_COMMAND') => "SET time_zone = '+03:00'"]);
$pdo = [new PDO("pgsql:$server"), $connect()];
$pdo[0]->exec("SET TIME ZONE 'Asia/Tokyo'");
$statement = $pdo[1]->prepare('SELECT ?');
$plain = pg_connect($server);
while (frankenphp_handle_request(function () use ($pdo, $plain, $server, $connect, $statement) {
    $statement->execute([5]);
    echo $pdo[0]->query('SHOW TIME ZONE')->fetchColumn(), ' ', $pdo[1]->query('SELECT @@time_zone')->fetchColumn(), ' ',
        pg_fetch_result(pg_query($plain, 'SELECT 7'), 0, 0), ' ', $statement->fetchColumn();
    $other = new PDO("pgsql:$server");
    foreach ([$pdo[0]->query('SELECT pg_backend_pid()')->fetchColumn(), pg_get_pid($plain)] as $pid) {
        $other->exec("SELECT pg_terminate_backend($pid, 60000)");
    }
    $connect()->exec('KILL ' . $id = $pdo[1]->query('SELECT connection_id()')->fetchColumn());
    do {
        $left = $connect()->query("SELECT count(*) FROM information_schema.processlist WHERE id = $id")->fetchColumn();
    } while ($left);
})) {
}
--HOWDAH--
worker {ROOT}/test.php
option connections 1
run
run
run
--EXPECT--
Asia/Tokyo +03:00 7 5
Asia/Tokyo +03:00 7 5
Asia/Tokyo +03:00 7 5
