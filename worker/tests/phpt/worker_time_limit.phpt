--TEST--
Worker mode: max_execution_time runs `finally` blocks; if they take long, or no PHP code runs, the process ends where it is
--FILE--
<?php
final class Kernel {
    public function __destruct() { echo 'never '; }
    public function handle(callable $controller): void {
        try {
            $controller();
        } catch (Throwable $e) {
            echo 'never ';
        } finally {
            echo 'finally ';
        }
        echo 'never ';
    }
}
$kernel = new Kernel();
$controllers = [
    'code' => static function () { while (true) {} },
    'fiber' => static function () { (new Fiber(static function () { while (true) {} }))->start(); },
    'generator' => static function () { foreach ((static function () { try { while (true) { yield 1; } } finally { echo 'generator '; } })() as $_) {} },
    'finally returns' => static function () { (static function () { try { while (true) {} } finally { return; } })(); },
    'finally throws' => static function () { try { try { while (true) {} } finally { throw new Exception(); } } catch (Exception) { echo 'caught '; } while (true) {} },
    'long finally' => static function () { try { while (true) {} } finally { while (true) {} } },
    'long call' => static function () { hash_pbkdf2('sha256', 'a', 'b', 1_000_000_000); },
    'shutdown' => static function () { register_shutdown_function(static function () { try { while (true) {} } finally { echo 'late '; } }); exit; },
    'none' => static function () { echo 'end '; exit; },
];
while (frankenphp_handle_request(static function () use ($kernel, $controllers) {
    echo $_GET['how'], ': ';
    register_shutdown_function(static function () {
        $error = error_get_last();
        echo '[', $error ? $error['message'] : 'no error', ' ', connection_status(), '] ';
    });
    set_time_limit(1);
    $kernel->handle($controllers[$_GET['how']]);
})) {}
--INI--
display_errors=0
output_buffering=4096
hard_timeout=1
--HOWDAH--
show exit end
worker {ROOT}/test.php
var QUERY_STRING how=code
run
wait-exit
respawn
var QUERY_STRING how=fiber
run
wait-exit
respawn
var QUERY_STRING how=generator
run
wait-exit
respawn
var QUERY_STRING how=finally%20returns
run
wait-exit
respawn
var QUERY_STRING how=finally%20throws
run
wait-exit
respawn
var QUERY_STRING how=long%20finally
run
wait-exit
respawn
var QUERY_STRING how=shutdown
run
wait-exit
respawn
var QUERY_STRING how=none
run
var QUERY_STRING how=long%20call
run
wait-exit
--EXPECT--
code: finally [Maximum execution time of 1 second exceeded 2] 
[end exit=1 status=255]
[worker exited with status 255]
fiber: finally [Maximum execution time of 1 second exceeded 2] 
[end exit=1 status=255]
[worker exited with status 255]
generator: generator finally [Maximum execution time of 1 second exceeded 2] 
[end exit=1 status=255]
[worker exited with status 255]
finally returns: [Maximum execution time of 1 second exceeded 2] 
[end exit=1 status=255]
[worker exited with status 255]
finally throws: caught [Maximum execution time of 1 second exceeded 2] 
[end exit=1 status=255]
[worker exited with status 255]
long finally: [Maximum execution time of 1 second exceeded 2] 
[end exit=1 status=255]
[worker exited with status 255]
shutdown: finally [no error 0] late 
[end exit=1 status=255]
[worker exited with status 255]
none: end finally [no error 0] 
[end exit=2 status=0]
[worker died; started=1]
[worker exited with status 124]
[worker exited with status 124]
