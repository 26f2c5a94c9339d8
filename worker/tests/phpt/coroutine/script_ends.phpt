--TEST--
Coroutines: a script that ends by itself, or fails, does not take requests on their way with it
--FILE--
<?php
$gate = new stdClass();
$served = 0;
while (frankenphp_handle_request(static function () use ($gate) {
    echo 'begin ';
    flush();
    if ($_GET['n'] !== 'slow') {
        $gate->quick = true;
        return;
    }
    while (!isset($gate->quick)) {
        usleep(1000);
    }
    for ($i = 0; $i < 20; $i++) {
        usleep(1000);
    }
    echo 'end';
})) {
    $served++;
    if ($_GET === [] && $served === 1) {
        break;
    }
}
--INI--
output_buffering=0
--HOWDAH--
show exit end state
option concurrency 4
worker {ROOT}/test.php
var QUERY_STRING n=slow
push slow
await-body slow begin
var QUERY_STRING n=quick
push quick
await quick
await slow
wait-exit
--EXPECT--
quick: begin 
[end exit=0 status=0]
slow: begin end
[end exit=0 status=0]
[state] ready
[state] retiring
[worker exited with status 0]
