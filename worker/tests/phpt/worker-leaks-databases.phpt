--TEST--
Worker mode: detect_leaks names the character set of mysqli, and parameters of connections to PostgreSQL
--SKIPIF--
<?php
if (!extension_loaded('mysqli') || !extension_loaded('pgsql')) {
    echo 'skip mysqli or pgsql is not loaded';
} elseif (!getenv('HOWDAH_TEST_MYSQL') || !getenv('HOWDAH_TEST_PGSQL')) {
    echo 'skip HOWDAH_TEST_MYSQL or HOWDAH_TEST_PGSQL is not set';
}
--FILE--
<?php
preg_match_all('/(\w+)=(\S+)/', getenv('HOWDAH_TEST_MYSQL'), $found);
$server = array_combine($found[1], $found[2]);
$mysqli = new mysqli($server['host'], $server['user'], $server['password'], $server['dbname'], (int) $server['port']);
$mysqli->set_charset('utf8mb4');
$pgsql = pg_connect(getenv('HOWDAH_TEST_PGSQL'));
pg_query($pgsql, "SET TimeZone = 'UTC'");
$number = 0;
$next = fn (array $values) => $values[++$GLOBALS['number'] % count($values)];
$actions = [
    'charset' => fn () => $mysqli->set_charset($next(['latin1', 'ascii', 'latin2'])),
    'zone' => fn () => pg_query($pgsql, "SET TimeZone = '" . $next(['Asia/Tokyo', 'Europe/Berlin', 'America/Lima']) . "'"),
    'encoding' => fn () => pg_set_client_encoding($pgsql, $next(['LATIN1', 'LATIN2', 'LATIN3'])),
    'name' => fn () => pg_query($pgsql, "SET application_name = '" . $next(['one', 'two', 'three']) . "'"),
    'ok' => fn () => pg_query($pgsql, 'SELECT 1'),
];
while (frankenphp_handle_request(function () use ($actions) {
    $actions[$_GET['do']]();
})) {
}
--HOWDAH--
worker {ROOT}/test.php
option flags 1
option detect_leaks_sample 1
leak-allow $GLOBALS['number']
show log
var REQUEST_URI /ok
var QUERY_STRING do=ok
run
run
run
var REQUEST_URI /charset
var QUERY_STRING do=charset
run
run
run
wait-log "uri":"/charset"
var REQUEST_URI /zone
var QUERY_STRING do=zone
run
run
run
wait-log "uri":"/zone"
var REQUEST_URI /encoding
var QUERY_STRING do=encoding
run
run
run
wait-log "uri":"/encoding"
var REQUEST_URI /name
var QUERY_STRING do=name
run
run
run
wait-log "uri":"/name"
stop
--EXPECTF--



[log l 6] {"kind":"object storage","why":"changes","path":"$GLOBALS['mysqli']{character_set_name()}","member":"$GLOBALS['mysqli']","value":"%d bytes","method":"GET","uri":"/charset"}



[log l 9] {"kind":"object storage","why":"changes","path":"$GLOBALS['pgsql']{pg_parameter_status('TimeZone')}","member":"$GLOBALS['pgsql']","value":"%d bytes","count_before":%d,"count":%d,"method":"GET","uri":"/zone"}



[log l 12] {"kind":"object storage","why":"changes","path":"$GLOBALS['pgsql']{pg_client_encoding()}","member":"$GLOBALS['pgsql']","value":"%d bytes","method":"GET","uri":"/encoding"}



[log l 15] {"kind":"object storage","why":"changes","path":"$GLOBALS['pgsql']{pg_parameter_status('application_name')}","member":"$GLOBALS['pgsql']","value":"%d bytes","count_before":%d,"count":%d,"method":"GET","uri":"/name"}
