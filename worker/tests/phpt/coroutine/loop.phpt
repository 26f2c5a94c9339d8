--TEST--
Coroutines: code between requests runs with the script's own state; a call from within a request is refused
--FILE--
<?php
$served = [];
$GLOBALS['who'] = 'script';
$gate = new stdClass();
$number = 0;
do {
    $number++;
    $more = frankenphp_handle_request(static function () use ($gate, $number) {
        $GLOBALS['who'] = 'request';
        http_response_code(418);
        echo "callback $number ";
        if ($_GET['n'] === 'open') {
            $gate->open = true;
        }
        while (!isset($gate->open)) {
            usleep(1000);
        }
        try {
            frankenphp_handle_request(static function () {});
        } catch (RuntimeException $e) {
            echo $e->getMessage();
        }
    });
    $served[] = $more ? http_response_code() . $GLOBALS['who'] . (isset($_GET['n']) ? ' mixed' : '') : 'end';
    usleep(100);
    gc_collect_cycles();
} while ($more);
error_log(implode(', ', $served));
--INI--
log_errors=1
--HOWDAH--
show exit log
option concurrency 3
worker {ROOT}/test.php
var QUERY_STRING n=a
push a
var QUERY_STRING n=open
push open
await open
await a
var QUERY_STRING n=open
run
stop
--EXPECT--
open: callback 1 frankenphp_handle_request() called while a request is handled
a: callback 1 frankenphp_handle_request() called while a request is handled
callback 3 frankenphp_handle_request() called while a request is handled
[log n 0] 200script, 200script, 200script, end
[worker exited with status 0]
