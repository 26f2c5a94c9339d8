--TEST--
Coroutines: exit() and an uncaught exception end their request, not those beside it
--FILE--
<?php
$gate = new stdClass();
while (frankenphp_handle_request(static function () use ($gate) {
    register_shutdown_function(static function () { echo ' [shutdown of ', $_GET['n'], ']'; });
    $unset = new class { public function __destruct() { echo ' ~', $_GET['n']; } };
    echo 'begin ';
    usleep(1000);
    switch ($_GET['n']) {
        case 'exit':
            exit('left');
        case 'exception':
            throw new LogicException('thrown');
        case 'fiber':
            (new Fiber(static function () { usleep(1000); exit('left in a fiber'); }))->start();
        case 'last':
            $gate->open = true;
            return;
    }
    while (!isset($gate->open)) {
        usleep(1000);
    }
    echo 'end';
})) {}
--HOWDAH--
show exit end
option concurrency 8
worker {ROOT}/test.php
var QUERY_STRING n=neighbour
push neighbour
var QUERY_STRING n=exit
push exit
await exit
var QUERY_STRING n=exception
push exception
await exception
var QUERY_STRING n=fiber
push fiber
await fiber
var QUERY_STRING n=last
run
await neighbour
stop
--EXPECTF--
exit: begin left ~exit [shutdown of exit]
[end exit=2 status=0]
exception: begin  ~exception
Fatal error: Uncaught LogicException: thrown in {ROOT}/test.php:%d
Stack trace:
#0 [internal function]: {closure%S}()
#1 {main}
  thrown in {ROOT}/test.php on line %d
 [shutdown of exception]
[end exit=0 status=255]
fiber: begin left in a fiber ~fiber [shutdown of fiber]
[end exit=2 status=0]
begin  ~last [shutdown of last]
[end exit=0 status=0]
neighbour: begin end ~neighbour [shutdown of neighbour]
[end exit=0 status=0]
[worker exited with status 0]
