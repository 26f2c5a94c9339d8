--TEST--
Worker mode: the script boots once, each request runs the callback, stop ends the loop
--FILE--
<?php
echo "booting\n";
$count = 0;
$boot = [$_SERVER['FRANKENPHP_WORKER'], $_SERVER['REQUEST_METHOD'], $_SERVER['REQUEST_URI'], getenv('FOO'), $_SERVER['FOO']];
while (frankenphp_handle_request(static function () use (&$count, $boot) {
    header('X-Count: ' . ++$count);
    echo "request $count\n", json_encode([$_GET, isset($_SERVER['FRANKENPHP_WORKER']), $_SERVER['QUERY_STRING'], PHP_SAPI]), "\n";
    echo json_encode($boot);
})) {
}
error_log("left after $count");
--INI--
log_errors=1
error_log=
--GET--
a=b
--HOWDAH--
show log exit state
worker {ROOT}/test.php
env FOO bar
run
run
stop
--EXPECT--
[log i 0] booting
request 1
[{"a":"b"},false,"a=b","howdah"]
["1","GET","\/test.php","bar","bar"]
[state] ready
request 2
[{"a":"b"},false,"a=b","howdah"]
["1","GET","\/test.php","bar","bar"]
[log n 0] left after 2
[worker exited with status 0]
