--TEST--
Worker mode: transactions that a request left on MySQL connections of all kinds
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
$server = array_combine($found[1], $found[2]);
$dsn = "mysql:host={$server['host']};port={$server['port']};dbname={$server['dbname']}";
$pdo = new PDO($dsn, $server['user'], $server['password']);
$shared = new PDO($dsn, $server['user'], $server['password'], [PDO::ATTR_PERSISTENT => true]);
$connect = fn ($host) => new mysqli($host, $server['user'], $server['password'], $server['dbname'], (int) $server['port']);
$made = mysqli_init();
$made->real_connect($server['host'], $server['user'], $server['password'], $server['dbname'], (int) $server['port']);
$mysqli = [
    $connect($server['host']),
    $connect("p:{$server['host']}"),
    $made,
    mysqli_connect($server['host'], $server['user'], $server['password'], $server['dbname'], (int) $server['port']),
];
$in = fn ($connection) => $connection->query('SELECT @@in_transaction');
$all = fn () => $in($pdo)->fetchColumn() . $in($shared)->fetchColumn()
    . implode(array_map(fn ($one) => $in($one)->fetch_row()[0], $mysqli));
while (frankenphp_handle_request(function () use ($pdo, $shared, $mysqli, $all) {
    echo $all();
    $pdo->beginTransaction();
    $shared->exec('BEGIN');
    $mysqli[0]->begin_transaction();
    $mysqli[1]->query('START TRANSACTION');
    $mysqli[2]->query('BEGIN');
    mysqli_begin_transaction($mysqli[3]);
    echo ' ', $all();
})) {
}
--HOWDAH--
worker {ROOT}/test.php
option flags 1
run
run
run
--EXPECT--
000000 111111
000000 111111
000000 111111
