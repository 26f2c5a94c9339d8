--TEST--
Coroutines: a client that disconnects while an exit() unwinds its request does not replace the exit, so the process continues
--FILE--
<?php
final class Local {
    public function __construct(private Closure $destruct) {}
    public function __destruct() { ($this->destruct)(); }
}
/** Its client leaves meanwhile; then come exceptions, and a wait if there may be one. */
function write_to_nobody(string $way): void
{
    echo 'begin ';
    do {
        flush();
        echo str_repeat(' ', 1000);
    } while (!connection_aborted());
    try {
        throw new RuntimeException('its own exception');
    } catch (RuntimeException $exception) {
        error_log("$way: caught " . $exception->getMessage());
    }
    usleep(1000);
    error_log("$way: to its end");
}
$ways = [
    'finally' => static function (Closure $write): void { try { exit; } finally { $write(); } },
    'destructor' => static function (Closure $write): void { $local = new Local($write); exit; },
    'destructor-in-function' => static function (Closure $write): void { array_map(static function () use ($write): void { $local = new Local($write); exit; }, [1]); },
    'function-of-php' => static function (Closure $write): void {
        $array = [1, 2];
        usort($array, static function () use ($write): int { try { exit; } finally { $write(); } });
    },
    'temporary' => static function (Closure $write): void { (static function (Local $local): void { exit; })(new Local($write)); },
    'generator' => static function (Closure $write): void {
        foreach ((static function () use ($write) { $local = new Local($write); yield 1; exit; })() as $_) {}
    },
    'fiber' => static function (Closure $write): void {
        (new Fiber(static function () use ($write): void { $local = new Local($write); exit; }))->start();
    },
    'child' => static function (Closure $write): void {
        Howdah\await(Howdah\spawn(static function () use ($write): void { $local = new Local($write); exit; }));
    },
    'handler' => static function (Closure $write): void {
        set_error_handler(static function () use ($write): never { $local = new Local($write); exit; });
        echo $undefined;
    },
    'without-exit' => static function (Closure $write): void { try { usleep(1); } finally { $write(); } usleep(1); error_log('never runs'); },
];
ignore_user_abort(false); // a worker script begins with true
while (frankenphp_handle_request(static function () use ($ways): void {
    $way = $_SERVER['QUERY_STRING'];
    if ($way === 'last') {
        echo 'the same process';
        return;
    }
    if ($way !== 'child') { // which may end after them
        register_shutdown_function(static fn () => error_log("$way: shutdown"));
    }
    $ways[$way](static fn () => write_to_nobody($way));
    error_log("$way: goes on");
})) {}
--INI--
log_errors=1
output_buffering=0
--HOWDAH--
show exit state log
option concurrency 4
worker {ROOT}/test.php
var QUERY_STRING finally
push finally
await-body finally begin
leave finally
wait-log finally: shutdown
var QUERY_STRING destructor
push destructor
await-body destructor begin
leave destructor
wait-log destructor: shutdown
var QUERY_STRING destructor-in-function
push destructor-in-function
await-body destructor-in-function begin
leave destructor-in-function
wait-log destructor-in-function: shutdown
var QUERY_STRING function-of-php
push function-of-php
await-body function-of-php begin
leave function-of-php
wait-log function-of-php: shutdown
var QUERY_STRING temporary
push temporary
await-body temporary begin
leave temporary
wait-log temporary: shutdown
var QUERY_STRING generator
push generator
await-body generator begin
leave generator
wait-log generator: shutdown
var QUERY_STRING fiber
push fiber
await-body fiber begin
leave fiber
wait-log fiber: shutdown
var QUERY_STRING child
push child
await-body child begin
leave child
wait-log child: to its end
var QUERY_STRING handler
push handler
await-body handler begin
leave handler
wait-log handler: shutdown
var QUERY_STRING without-exit
push without-exit
await-body without-exit begin
leave without-exit
wait-log without-exit: shutdown
var QUERY_STRING last
run
stop
--EXPECT--
[state] ready
[log n 1] finally: caught its own exception
[log n 1] finally: to its end
[log n 1] finally: shutdown
[log n 2] destructor: caught its own exception
[log n 2] destructor: to its end
[log n 2] destructor: shutdown
[log n 3] destructor-in-function: caught its own exception
[log n 3] destructor-in-function: to its end
[log n 3] destructor-in-function: shutdown
[log n 4] function-of-php: caught its own exception
[log n 4] function-of-php: to its end
[log n 4] function-of-php: shutdown
[log n 5] temporary: caught its own exception
[log n 5] temporary: to its end
[log n 5] temporary: shutdown
[log n 6] generator: caught its own exception
[log n 6] generator: to its end
[log n 6] generator: shutdown
[log n 7] fiber: caught its own exception
[log n 7] fiber: to its end
[log n 7] fiber: shutdown
[log n 8] child: caught its own exception
[log n 8] child: to its end
[log n 9] handler: caught its own exception
[log n 9] handler: to its end
[log n 9] handler: shutdown
[log n 10] without-exit: caught its own exception
[log n 10] without-exit: to its end
[log n 10] without-exit: shutdown
the same process
[worker exited with status 0]
