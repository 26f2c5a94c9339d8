--TEST--
Coroutines: a request that is cancelled while it waits for a class does not load the class itself
--FILE--
<?php
$gate = new stdClass();
ignore_user_abort(false); // for all requests: a worker script begins with true
spl_autoload_register(static function (string $class) use ($gate) {
    error_log("loads $class");
    while (!isset($gate->open)) {
        usleep(1000);
        if (connection_aborted() || $_GET['do'] === 'last') {
            break; // a wait that is cancelled ends at once
        }
    }
    require __DIR__ . "/$class.inc";
});
while (frankenphp_handle_request(static function () use ($gate) {
    if ($_GET['do'] === 'open') {
        $gate->open = true;
        return;
    }
    if ($_GET['do'] === 'last') {
        register_shutdown_function(static function () {
            error_log(class_exists('Late') ? 'there' : 'not there');
        });
    }
    echo 'begin ';
    flush();
    if ($_GET['do'] === 'last') {
        sleep(3600);
    }
    echo (new Late())->who();
})) {}
--FILE Late.inc--
<?php
if (true) {
    class Late
    {
        public function who(): string
        {
            return __CLASS__;
        }
    }
}
--INI--
log_errors=1
output_buffering=0
--HOWDAH--
show exit log
option concurrency 4
worker {ROOT}/test.php
var QUERY_STRING do=load
push loads
await-body loads begin
var QUERY_STRING do=load
push leaves
await-body leaves begin
leave leaves
await leaves
var QUERY_STRING do=last
push last
await-body last begin
time-out last
wait-log there
var QUERY_STRING do=open
push open
await open
await loads
stop
--EXPECTREGEX--
leaves: begin 
\[log n 1\] loads Late
(\[log w \d+\] PHP backtrace of the request:\n(#\d+ [^\n]*\n)+)+\[log n 3\] not there
open: 
loads: begin Late
\[worker exited with status 0\]
