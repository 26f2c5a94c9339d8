--TEST--
Worker mode: statements that PDO emulates or prepares later, and settings that a worker sets again, survive the fork
--SKIPIF--
<?php
if (!extension_loaded('pdo_pgsql') || !extension_loaded('pdo_mysql') || !extension_loaded('pdo_sqlite')) {
    echo 'skip pdo_pgsql, pdo_mysql or pdo_sqlite is not loaded';
} elseif (!getenv('HOWDAH_TEST_PGSQL') || !getenv('HOWDAH_TEST_MYSQL')) {
    echo 'skip HOWDAH_TEST_PGSQL or HOWDAH_TEST_MYSQL is not set';
}
--FILE--
<?php
$pgsql = new PDO('pgsql:' . getenv('HOWDAH_TEST_PGSQL'));
$emulated = $pgsql->prepare('SELECT ?::int', [PDO::ATTR_EMULATE_PREPARES => true]);
$emulated->execute([1]);
$later = $pgsql->prepare('SELECT ?::int');
$gone = $pgsql->query('SELECT 1');
unset($gone);
$pgsql->exec("SET NAMES 'UTF8'; SET SESSION TimeZone TO 'Asia/Tokyo'; SELECT 'a setting: SET search_path'");
$pgsql->exec("BEGIN; SET LOCAL search_path = x; SET TRANSACTION READ ONLY; ROLLBACK");
preg_match_all('/(\w+)=(\S+)/', getenv('HOWDAH_TEST_MYSQL'), $found);
$mysql = array_combine($found[1], $found[2]);
$mysql_pdo = new PDO("mysql:host={$mysql['host']};port={$mysql['port']};dbname={$mysql['dbname']}", $mysql['user'], $mysql['password'], []);
$values = $mysql_pdo->prepare('SELECT ?');
$values->execute([1]);
$mysql_pdo->exec('SET TRANSACTION ISOLATION LEVEL SERIALIZABLE');
$mysql_pdo->query('SELECT 1 AS `set`; -- USE');
$file = new PDO('sqlite:' . __DIR__ . '/file.db');
$file->exec("PRAGMA journal_mode = 'WAL'; PRAGMA foreign_keys = ON; PRAGMA user_version = 3; PRAGMA integrity_check(1)");
$file->query('PRAGMA synchronous')->fetchColumn();
while (frankenphp_handle_request(function () use ($emulated, $later, $values, $pgsql, $file) {
    foreach ([$emulated, $later, $values] as $statement) {
        $statement->execute([7]);
        echo $statement->fetchColumn(), ' ';
    }
    echo $pgsql->query('SHOW TIME ZONE')->fetchColumn(), ' ', $file->query('PRAGMA foreign_keys')->fetchColumn(), "\n";
})) {
}
--HOWDAH--
worker {ROOT}/test.php
run
--EXPECT--
7 7 7 Asia/Tokyo 1
