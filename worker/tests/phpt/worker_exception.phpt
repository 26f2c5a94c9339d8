--TEST--
Worker mode: an uncaught exception ends the request; handlers run, and may exit or throw
--FILE--
<?php
$n = 0;
while (frankenphp_handle_request(static function () use (&$n) {
    echo ++$n, ' ';
    switch ($n) {
        case 1: throw new RuntimeException('plain');
        case 2: set_exception_handler(static function (Throwable $e) { http_response_code(503); echo 'handled ', $e->getMessage(); exit(20); });
            throw new Exception('two');
        case 3: set_exception_handler(static function (Throwable $e) { throw new LogicException('from the handler'); });
            throw new Exception('three');
        case 4: undefined_function();
        case 5: register_shutdown_function(static function () { throw new Exception('in shutdown'); }); return;
        case 6: echo eval('return 1 +;');
        case 7: header_register_callback(static function () { throw new Exception('in header callback'); }); return;
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
run
run
run
stop
--EXPECTF--
1 
Fatal error: Uncaught RuntimeException: plain in {ROOT}/test.php:6%A
[end exit=0 status=255]
2 handled two
[end exit=2 status=20]
3 
Fatal error: Uncaught LogicException: from the handler in {ROOT}/test.php:%A
[end exit=0 status=255]
4 
Fatal error: Uncaught Error: Call to undefined function undefined_function()%A
[end exit=0 status=255]
5 
Fatal error: Uncaught Exception: in shutdown%A
[end exit=0 status=255]
6 
Parse error: %A
[end exit=0 status=255]
7 
Fatal error: Uncaught Exception: in header callback%A
[end exit=0 status=255]
8 end
[end exit=0 status=0]
[worker exited with status 0]
