--TEST--
Coroutines: a cancelled request is unwound although a destructor's exception replaces its exit, and the process continues
--FILE--
<?php
final class Throws {
    public function __destruct() { error_log('the destructor throws'); throw new RuntimeException('from the destructor'); }
}
/** Its client leaves from here on. */
function begin_and_wait(): void
{
    echo 'begin ';
    flush();
    sleep(3600);
}
$ways = [
    'caught' => static function (): void {
        try {
            (static function (): void { $object = new Throws(); begin_and_wait(); })();
        } catch (RuntimeException) {
            error_log('caught');
        }
        usleep(1000);
        error_log('never runs');
    },
    'silent' => static function (): void {
        try {
            (static function (): void { $object = new Throws(); begin_and_wait(); })();
        } catch (RuntimeException) {
            return;
        }
    },
    'uncaught' => static function (): void {
        $object = new Throws();
        begin_and_wait();
    },
];
ignore_user_abort(false); // a worker script begins with true
while (frankenphp_handle_request(static function () use ($ways): void {
    $way = urldecode($_SERVER['QUERY_STRING']);
    register_shutdown_function(static fn () => error_log("shutdown: $way"));
    if ($way !== 'last') {
        $ways[$way]();
    }
})) {}
--INI--
log_errors=1
output_buffering=0
--HOWDAH--
show exit state log
option concurrency 8
worker {ROOT}/test.php
var QUERY_STRING caught
push caught
await-body caught begin
leave caught
wait-log shutdown: caught
var QUERY_STRING silent
push silent
await-body silent begin
leave silent
wait-log shutdown: silent
var QUERY_STRING uncaught
push uncaught
await-body uncaught begin
leave uncaught
wait-log shutdown: uncaught
var QUERY_STRING last
run
stop
--EXPECTF--
[state] ready
[log n 1] the destructor throws
[log n 1] caught
[log n 1] shutdown: caught
[log n 2] the destructor throws
[log n 2] shutdown: silent
[log n 3] the destructor throws
[log e 3] PHP Fatal error:  Uncaught RuntimeException: from the destructor in %s/test.php:%d
Stack trace:
#0 %s/test.php(%d): Throws->__destruct()
#1 [internal function]: {closure%S}()
#2 {main}
  thrown in %s/test.php on line %d
[log n 3] shutdown: uncaught

[log n 4] shutdown: last
[worker exited with status 0]
