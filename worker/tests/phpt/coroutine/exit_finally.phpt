--TEST--
Coroutines: exit() and cancelling run `finally` blocks, which may wait; where one would get lost the process takes no more requests
--FILE--
<?php
use function Howdah\{await, spawn, timeout};
final class Kernel {
    public int $depth = 0;
    public array $gate = [];
    public mixed $held = null;
    public function handle(callable $controller): mixed {
        $this->depth++;
        try {
            return $controller($this);
        } catch (Throwable $error) {
            if ($error instanceof Howdah\TimeoutException) { throw $error; }
            echo 'CAUGHT ', get_class($error), ' ';
            return null;
        } finally {
            usleep(1000);
            $this->depth--;
            echo 'finally ';
        }
    }
}
$kernel = new Kernel();
$returns = static function (callable $code) { try { return $code(); } finally { return 1; } };
$ways = [
    'plain' => static function () { usleep(1000); exit('left '); },
    'child' => static function (Kernel $kernel) { spawn(static fn () => $kernel->handle(static function () { usleep(1000); exit('child '); })); sleep(60); },
    'grandchild' => static fn (Kernel $kernel) => await(spawn(static fn () => await(spawn(static fn () => $kernel->handle(static fn () => exit('grandchild ')))))),
    'beside a child' => static function (Kernel $kernel) { spawn(static fn () => $kernel->handle(static fn () => sleep(60))); usleep(1000); exit('parent '); },
    'fiber' => static fn (Kernel $kernel) => (new Fiber(static fn () => $kernel->handle(static function () { usleep(1000); exit('fiber '); })))->start(),
    'timeout' => static function (Kernel $kernel) { try { timeout(0.001, static fn () => $kernel->handle(static fn () => sleep(60))); } catch (Howdah\TimeoutException) { echo 'late '; } },
    'timeout in finally' => static function () { try { timeout(0.001, static function () { try { echo 'a '; } finally { usleep(20000); echo 'whole '; } usleep(1000); echo 'never'; }); } catch (Howdah\TimeoutException) { echo 'late '; } },
    'fiber in a circle' => static function (Kernel $kernel) { $fiber = new Fiber(static function () use ($kernel, &$fiber) { $kernel->depth++; try { Fiber::suspend(); } finally { $kernel->depth--; } }); $fiber->start(); },
    'fiber in a static' => static function (Kernel $kernel) { static $fiber; $fiber = new Fiber(static function () use ($kernel) { $kernel->depth++; try { Fiber::suspend(); } finally { $kernel->depth--; } }); $fiber->start(); },
    'returning finally' => static fn () => $returns(static function () { usleep(1000); exit('left '); }),
    'returning finally of a child' => static function () use ($returns) { spawn(static fn () => $returns(static fn () => exit('child '))); sleep(60); },
    'returning finally of the parent' => static fn () => $returns(static fn () => await(spawn(static fn () => exit('child ')))),
    'cancelled, returning finally' => static function () use ($returns) { try { timeout(0.001, static fn () => $returns(static fn () => sleep(60))); } catch (Howdah\TimeoutException) { echo 'late '; } },
    'finally throws' => static function () { try { try { usleep(1); exit('left '); } finally { throw new Exception('instead'); } } catch (Exception $e) { echo $e->getMessage(), ' '; } },
    'fiber that is held' => static function (Kernel $kernel) { $kernel->held = new Fiber(static function () { try { Fiber::suspend(); } finally { echo 'later '; } }); $kernel->held->start(); },
];
while (frankenphp_handle_request(static function () use ($kernel, $ways) {
    $way = urldecode($_SERVER['QUERY_STRING']);
    register_shutdown_function(static function () { echo '[shutdown]'; });
    if ($way === 'open') {
        $kernel->gate = [true];
        return;
    }
    if ($way === 'beside') {
        echo 'begin ';
        flush();
        while (!$kernel->gate) { usleep(1000); }
        echo "depth $kernel->depth ";
        return;
    }
    if ($_SERVER['HTTP_HOST'] === 'last') {
        register_shutdown_function(static function () use ($kernel) { $kernel->gate = [true]; });
    }
    echo "$way: ", $kernel->depth ? "DEPTH $kernel->depth " : '';
    $kernel->handle($ways[$way]);
    echo 'goes on ';
})) {}
--INI--
output_buffering=0
--HOWDAH--
show end exit state log
option concurrency 8
worker {ROOT}/test.php
var QUERY_STRING beside
push beside
await-body beside begin
var QUERY_STRING plain
run
var QUERY_STRING child
run
var QUERY_STRING grandchild
run
var QUERY_STRING beside+a+child
run
var QUERY_STRING fiber
run
var QUERY_STRING timeout
run
var QUERY_STRING timeout+in+finally
run
var QUERY_STRING fiber+in+a+circle
run
var QUERY_STRING fiber+in+a+static
run
var QUERY_STRING open
run
await beside
stop
respawn
var HTTP_HOST last
var QUERY_STRING beside
push b0
await-body b0 begin
var QUERY_STRING returning+finally
push w0
await w0
await b0
wait-exit
respawn
var QUERY_STRING beside
push b1
await-body b1 begin
var QUERY_STRING returning+finally+of+a+child
push w1
await w1
await b1
wait-exit
respawn
var QUERY_STRING beside
push b2
await-body b2 begin
var QUERY_STRING returning+finally+of+the+parent
push w2
await w2
await b2
wait-exit
respawn
var QUERY_STRING beside
push b3
await-body b3 begin
var QUERY_STRING cancelled,+returning+finally
push w3
await w3
await b3
wait-exit
respawn
var QUERY_STRING beside
push b4
await-body b4 begin
var QUERY_STRING finally+throws
push w4
await w4
await b4
wait-exit
respawn
var QUERY_STRING beside
push b5
await-body b5 begin
var QUERY_STRING fiber+that+is+held
push w5
await w5
await b5
wait-exit
--EXPECT--
plain: left finally [shutdown]
[end exit=2 status=0]
[state] ready
child: child finally finally [shutdown]
[end exit=2 status=0]
grandchild: grandchild finally finally [shutdown]
[end exit=2 status=0]
beside a child: parent finally [shutdown]finally 
[end exit=2 status=0]
fiber: fiber finally finally [shutdown]
[end exit=2 status=0]
timeout: late finally goes on [shutdown]finally 
[end exit=0 status=0]
timeout in finally: a late finally goes on [shutdown]whole 
[end exit=0 status=0]
fiber in a circle: finally goes on [shutdown]
[end exit=0 status=0]
fiber in a static: finally goes on [shutdown]
[end exit=0 status=0]
[shutdown]
[end exit=0 status=0]
beside: begin depth 0 [shutdown]
[end exit=0 status=0]
[worker exited with status 0]
w0: returning finally: left [shutdown]
[end exit=4 status=0]
b0: begin depth 1 [shutdown]
[end exit=0 status=0]
[state] ready
[log n 13] This process is replaced after the request "GET /test.php": it ended without all of its `finally` blocks
[state] retiring
[worker exited with status 0]
w1: returning finally of a child: child finally [shutdown]
[end exit=4 status=0]
b1: begin depth 0 [shutdown]
[end exit=0 status=0]
[state] ready
[log n 15] This process is replaced after the request "GET /test.php": it ended without all of its `finally` blocks
[state] retiring
[worker exited with status 0]
w2: returning finally of the parent: child [shutdown]
[end exit=4 status=0]
b2: begin depth 1 [shutdown]
[end exit=0 status=0]
[state] ready
[log n 17] This process is replaced after the request "GET /test.php": it ended without all of its `finally` blocks
[state] retiring
[worker exited with status 0]
w3: cancelled, returning finally: late finally goes on [shutdown]
[end exit=4 status=0]
b3: begin depth 0 [shutdown]
[end exit=0 status=0]
[state] ready
[log n 19] This process is replaced after the request "GET /test.php": it ended without all of its `finally` blocks
[state] retiring
[worker exited with status 0]
w4: finally throws: left instead finally goes on [shutdown]
[end exit=5 status=0]
b4: begin depth 0 [shutdown]
[end exit=0 status=0]
[state] ready
[log n 21] This process is replaced after the request "GET /test.php": an exception replaced the end of its code
[state] retiring
[worker exited with status 0]
w5: fiber that is held: finally goes on [shutdown]
[end exit=6 status=0]
b5: begin depth 0 [shutdown]
[end exit=0 status=0]
[state] ready
[log n 23] This process is replaced after the request "GET /test.php": it left a Fiber or generator within a `try` with `finally`
[state] retiring
[log i 0] later 
[worker exited with status 0]
