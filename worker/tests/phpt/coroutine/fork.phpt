--TEST--
Coroutines: a child that a request forks runs only that request, its waits block, and its output is dropped
--SKIPIF--
<?php
if (!extension_loaded('pcntl')) {
    echo 'skip pcntl is not loaded';
}
--FILE--
<?php
$gate = new stdClass();
$log = __DIR__ . '/log';
while (frankenphp_handle_request(static function () use ($gate, $log) {
    if ($_GET['n'] === 'beside') {
        echo 'begin ';
        flush();
        while (!isset($gate->open)) {
            usleep(1000);
        }
        file_put_contents($log, "beside\n", FILE_APPEND);
        $gate->written = true;
        echo 'end';
        return;
    }
    $child = pcntl_fork();
    if ($child === 0) {
        $gate->open = true;
        usleep(20000);
        echo 'from the child';
        file_put_contents($log, "child\n", FILE_APPEND);
        $_GET['how'] === 'exit' && exit(7);
        return;
    }
    pcntl_waitpid($child, $status);
    echo 'child ended with ', pcntl_wexitstatus($status);
    if ($_GET['how'] === 'return') {
        $gate->open = true;
        while (!isset($gate->written)) {
            usleep(1000);
        }
        echo ' ', str_replace("\n", ' ', file_get_contents($log));
    }
})) {}
--INI--
output_buffering=0
--HOWDAH--
show exit
option concurrency 4
worker {ROOT}/test.php
var QUERY_STRING n=beside
push beside
await-body beside begin
var QUERY_STRING n=fork&how=exit
push exit
await exit
var QUERY_STRING n=fork&how=return
push return
await beside
await return
stop
--EXPECT--
exit: child ended with 7
beside: begin end
return: child ended with 0 child child beside 
[worker exited with status 0]
