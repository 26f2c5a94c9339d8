--TEST--
Worker mode: header_register_callback() of a response without output ends the request as PHP-FPM does
--FILE--
<?php
$n = 0;
while (frankenphp_handle_request(static function () use (&$n) {
    switch (++$n) {
        case 1: header_register_callback(static function () { header('X-Callback: 1'); throw new Exception('thrown'); }); return;
        case 2: header_register_callback(static function () { header('X-Callback: 2'); exit('exited'); }); return;
        case 3: header_register_callback(static function () { header('X-Callback: 3'); echo 'echoed'; }); return;
        case 4:
            set_exception_handler(static function (Throwable $e) { echo 'handled ', $e->getMessage(); });
            header_register_callback(static function () { throw new Exception('thrown'); });
            return;
    }
    echo 'end';
})) {}
--HOWDAH--
show exit end
worker {ROOT}/test.php
run
run
run
run
run
stop
--EXPECTF--

Fatal error: Uncaught Exception: thrown in {ROOT}/test.php:5%A
[end exit=%d status=255]
exited
[end exit=%d status=0]
echoed
[end exit=0 status=0]
handled thrown
[end exit=%d status=%d]
end
[end exit=0 status=0]
[worker exited with status 0]
