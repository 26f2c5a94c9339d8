--TEST--
Coroutines: a worker that was ordered to stop accepts nothing new and finishes its requests; so does one that has served enough
--FILE--
<?php
$gate = new stdClass();
while (frankenphp_handle_request(static function () use ($gate) {
    echo 'begin ';
    flush();
    if ($_GET['n'] === 'open') {
        $gate->open = true;
    }
    while (!isset($gate->open)) {
        usleep(1000);
    }
    usleep(20000);
    echo $_GET['n'];
})) {}
error_log('the script ends');
--INI--
log_errors=1
output_buffering=0
--HOWDAH--
show exit log state
option concurrency 4
worker {ROOT}/test.php
var QUERY_STRING n=a
push a
await-body a begin
var QUERY_STRING n=b
push b
await-body b begin
var QUERY_STRING n=open
push open
await-body open begin
stop
await a
await b
await open
max-requests 2
retire-after 1
respawn
push c
await-body c begin
push d
await-body d begin
push e
await c
await d
wait-exit
max-requests 0
retire-after 0
respawn
await e
stop
--EXPECT--
[state] ready
[log n 0] the script ends
[worker exited with status 0]
a: begin a
b: begin b
open: begin open
c: begin open
d: begin open
[state] ready
[state] retiring
[log n 0] the script ends
[worker exited with status 0]
e: begin open
[state] ready
[log n 0] the script ends
[worker exited with status 0]
