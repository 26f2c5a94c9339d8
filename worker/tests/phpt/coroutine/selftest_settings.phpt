--TEST--
Coroutines: settings that the checks of the self-test do not expect are no reason to do without coroutines
--FILE--
<?php
$gate = new stdClass();
while (frankenphp_handle_request(static function () use ($gate) {
    if ($_GET['n'] === 'fatal') {
        usleep(1000);
        register_shutdown_function(static function () use ($gate) { $gate->open = true; });
        trigger_error('on purpose', E_USER_ERROR);
    }
    while (!isset($gate->open)) {
        usleep(1000);
    }
    $circle = new stdClass();
    $circle->circle = $circle;
    unset($circle);
    echo $_GET['n'], ' ', error_reporting(), ' ', ini_get('precision'), ' ', ini_get('fiber.stack_size'), ' ', ini_get('zend.enable_gc'), ' ', ini_get('memory_limit');
})) {}
--INI--
error_reporting=0
session.auto_start=1
session.save_path={ROOT}
zend.enable_gc=0
fiber.stack_size=1
memory_limit=8M
output_buffering=64
precision=3
max_execution_time=1
--HOWDAH--
show exit log
final precision 5
final session.name OTHER
option concurrency 3
worker {ROOT}/test.php
var QUERY_STRING n=a
push a
var QUERY_STRING n=fatal
push fatal
await fatal
await a
wait-exit
--EXPECT--
fatal: 
a: a 0 5 1 0 8M
[worker exited with status 255]
