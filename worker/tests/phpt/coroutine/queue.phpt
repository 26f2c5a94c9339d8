--TEST--
Coroutines: no more requests run at a time than there are places; the others wait in the queue
--FILE--
<?php
final class Count
{
    public int $now = 0;
    public int $most = 0;
}
$count = new Count();
$served = 0;
while (frankenphp_handle_request(static function () use ($count) {
    $count->most = max($count->most, ++$count->now);
    while ($count->most < 2) {
        usleep(1000);
    }
    usleep(20000); // in which a third one would begin
    $count->now--;
    echo $_GET['n'] ?? '', $_SERVER['REQUEST_URI'] === '/most' ? "at most $count->most" : '';
})) {
    $served++;
}
error_log("the loop has seen $served requests");
--HOWDAH--
show log exit
arg -d
arg log_errors=1
option concurrency 2
worker {ROOT}/test.php
var QUERY_STRING n=1
push 1
var QUERY_STRING n=2
push 2
var QUERY_STRING n=3
push 3
var QUERY_STRING n=4
push 4
var QUERY_STRING n=5
push 5
await 1
await 2
await 3
await 4
await 5
var QUERY_STRING
var REQUEST_URI /most
run
stop
--EXPECTF--
1: 1
2: 2
3: 3
4: 4
5: 5
at most 2
[log n 0] the loop has seen 6 requests
[worker exited with status 0]
