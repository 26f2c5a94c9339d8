--TEST--
Coroutines: an unread response on a shared mysqli connection is not read by the next request
--SKIPIF--
<?php
if (!extension_loaded('mysqli')) {
    echo 'skip mysqli is not loaded';
} elseif (!getenv('HOWDAH_TEST_MYSQL')) {
    echo 'skip HOWDAH_TEST_MYSQL is not set, e.g. to "host=127.0.0.1 port=3306 user=test password=test dbname=test"';
}
--FILE--
<?php
preg_match_all('/(\w+)=(\S+)/', getenv('HOWDAH_TEST_MYSQL'), $found);
$server = array_combine($found[1], $found[2]);
$db = new mysqli($server['host'], $server['user'], $server['password'], $server['dbname'], (int) $server['port']);
$kept = new stdClass();
$leave = [
    'async' => static fn () => $db->query("SELECT 'old'", MYSQLI_ASYNC),
    'multi' => static fn () => $db->multi_query("SELECT 'old'; SELECT 'older'"),
    'rows' => static fn () => ($kept->rows = $db->query("SELECT 'old' UNION SELECT 'older'", MYSQLI_USE_RESULT))->fetch_row(),
    'nothing' => static fn () => $db->query("SELECT 'old'")->fetch_row(),
];
while (frankenphp_handle_request(static function () use ($db, $leave) {
    echo $db->query("SELECT 'new'")->fetch_row()[0];
    $leave[$_GET['leave']]();
})) {
}
--HOWDAH--
option concurrency 2
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
var QUERY_STRING leave=nothing
run
run
--EXPECT--
new
[worker died; started=0]
[worker exited with status 0]
new
[worker died; started=0]
[worker exited with status 0]
new
[worker died; started=0]
[worker exited with status 0]
new
new
