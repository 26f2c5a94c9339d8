--TEST--
Worker mode: an unread response on a MySQL connection is not read by the next request
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
$db = new mysqli($server['host'], $server['user'], $server['password'], $server['dbname'], (int) $server['port']);
$dsn = "mysql:host={$server['host']};port={$server['port']};dbname={$server['dbname']}";
$pdo = new PDO($dsn, $server['user'], $server['password'], [PDO::MYSQL_ATTR_USE_BUFFERED_QUERY => false]);
$kept = new stdClass();
$leave = [
    'async' => static fn () => $db->query("SELECT 'old'", MYSQLI_ASYNC),
    'multi' => static fn () => $db->multi_query("SELECT 'old'; SELECT 'older'"),
    'rows' => static fn () => ($kept->rows = $db->query("SELECT 'old' UNION SELECT 'older'", MYSQLI_USE_RESULT))->fetch_row(),
    'pdo' => static fn () => ($kept->rows = $pdo->query("SELECT 'old' UNION SELECT 'older'"))->fetch(),
    'nothing' => static fn () => $db->query("SELECT 'old'")->fetch_row(),
];
while (frankenphp_handle_request(static function () use ($db, $pdo, $leave) {
    echo $db->query("SELECT 'new'")->fetch_row()[0], ' ', $pdo->query("SELECT 'new'")->fetchColumn();
    $leave[$_GET['leave']]();
})) {
}
--HOWDAH--
option flags 1
worker {ROOT}/test.php
show exit
var QUERY_STRING leave=async
run
run
respawn
var QUERY_STRING leave=multi
run
run
respawn
var QUERY_STRING leave=rows
run
run
respawn
var QUERY_STRING leave=pdo
run
run
respawn
var QUERY_STRING leave=nothing
run
run
--EXPECT--
new new
[worker died; started=0]
[worker exited with status 0]
new new
[worker died; started=0]
[worker exited with status 0]
new new
[worker died; started=0]
[worker exited with status 0]
new new
[worker died; started=0]
[worker exited with status 0]
new new
new new
