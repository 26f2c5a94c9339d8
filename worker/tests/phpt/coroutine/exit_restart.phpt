--TEST--
Coroutines: with `exit restart` exit() retires the worker, which first ends the requests beside it
--FILE--
<?php
$gate = new stdClass();
while (frankenphp_handle_request(static function () use ($gate) {
    echo 'begin ';
    flush();
    if ($_GET['n'] === 'exit') {
        $gate->open = true;
        exit('left');
    }
    while (!isset($gate->open)) {
        usleep(1000);
    }
    echo 'end';
})) {}
--INI--
output_buffering=0
--HOWDAH--
show exit end state
option concurrency 4
option flags 2
worker {ROOT}/test.php
var QUERY_STRING n=beside
push beside
await-body beside begin
var QUERY_STRING n=exit
push exit
await exit
await beside
wait-exit
--EXPECT--
exit: begin left
[end exit=3 status=0]
beside: begin end
[end exit=0 status=0]
[state] ready
[state] retiring
[worker exited with status 0]
