--TEST--
Worker mode: where exit() cannot run all `finally` blocks, or does not arrive, the response is whole and the process is not used again
--FILE--
<?php
final class Kernel {
    public int $depth = 0;
    public mixed $held = null;
    public function handle(callable $controller): mixed {
        $this->depth++;
        try {
            return $controller($this);
        } finally {
            $this->depth--;
            echo 'finally ';
        }
    }
}
$kernel = new Kernel();
$returns = static function (callable $code) { try { return $code(); } finally { return 1; } };
$ways = [
    'finally returns' => static fn () => $returns(static fn () => exit('text ')),
    'finally may return' => static function () { try { exit; } finally { if (isset($_GET['never'])) { return 1; } } },
    'finally returns further out' => static fn () => $returns(static fn () => array_map(static fn () => exit('text '), [1])),
    'finally returns in a loop' => static function () { foreach ([1, 2] as $_) { try { exit; } finally { foreach ([1] as $_) { return; } } } },
    'finally yields' => static function () { foreach ((static function () { try { yield 1; exit; } finally { yield 2; } })() as $n) { echo "$n "; } },
    'consumer returns' => static fn () => $returns(static function () { foreach ((static function () { yield 1; exit; })() as $_) {} }),
    'outer generator returns' => static function () {
        $inner = static function () { yield 1; exit; };
        $outer = static function () use ($inner) { try { yield from $inner(); } finally { return 1; } };
        foreach ($outer() as $_) {}
    },
    'outermost generator returns' => static function () {
        $inner = static function () { yield 1; exit; };
        $middle = static function () use ($inner) { yield from $inner(); };
        $outer = static function () use ($middle) { try { yield from $middle(); } finally { return 1; } };
        foreach ($outer() as $_) {}
    },
    'generator over an iterator returns' => static function () {
        $iterator = new class ([1, 2]) extends ArrayIterator { public function next(): void { exit('next '); } };
        $outer = static function () use ($iterator) { try { yield from $iterator; } finally { return 1; } };
        foreach ($outer() as $_) {}
    },
    'resumer of a fiber returns' => static fn () => $returns(static fn () => (new Fiber(static fn () => exit('fiber ')))->start()),
    'includer returns' => static fn () => $returns(static fn () => include __DIR__ . '/included.php'),
    'destructor in finally that returns' => static fn () => $returns(static function () { $o = new class { public function __destruct() { exit('gone '); } }; }),
    'error handler in finally that returns' => static fn () => $returns(static function () { set_error_handler(static fn () => exit('handled ')); echo $undefined; }),
    'shutdown function' => static function () use ($returns) { register_shutdown_function(static fn () => $returns(static fn () => exit('late '))); },
    'output callback' => static function () use ($returns) { ob_start(static fn (string $text) => $returns(static fn () => exit)); echo 'text '; },
    'session handler' => static function () use ($returns) {
        session_set_save_handler(new class ($returns) extends SessionHandler {
            public function __construct(private Closure $returns) {}
            public function write(string $id, string $data): bool { ($this->returns)(static fn () => exit); return true; }
        });
        session_start();
        $_SESSION['n'] = 1;
    },
    'finally throws' => static function () { try { try { exit; } finally { throw new Exception('instead'); } } catch (Exception $e) { echo $e->getMessage(), ' '; } },
    'destructor throws' => static function () {
        try { (static function () { $o = new class { public function __destruct() { throw new Exception('instead'); } }; exit; })(); } catch (Exception $e) { echo $e->getMessage(), ' '; }
    },
    'dropped by an iterator' => static function () {
        $tree = new class ([[1], 2]) extends RecursiveArrayIterator { public function getChildren(): ?RecursiveArrayIterator { exit('children '); } };
        foreach (new RecursiveIteratorIterator($tree, RecursiveIteratorIterator::LEAVES_ONLY, RecursiveIteratorIterator::CATCH_GET_CHILD) as $leaf) { echo "$leaf "; }
    },
    'another exit in finally' => static function () { try { exit('first '); } finally { exit('second '); } },
    'fiber that is destroyed' => static function () { $fiber = new Fiber(static function () { try { Fiber::suspend(); } finally { exit('fiber '); } }); $fiber->start(); unset($fiber); },
    'suspended fiber' => static function (Kernel $kernel) {
        $kernel->held = new Fiber(static fn () => $kernel->handle(static fn () => Fiber::suspend()));
        $kernel->held->start();
    },
    'suspended fiber and exit' => static function (Kernel $kernel) {
        $kernel->held = new Fiber(static fn () => $kernel->handle(static fn () => Fiber::suspend()));
        $kernel->held->start();
        exit;
    },
    'fiber that suspends in finally' => static function (Kernel $kernel) {
        $kernel->held = new Fiber(static function () { try { exit; } finally { Fiber::suspend(); } });
        $kernel->held->start();
    },
    'generator half way' => static function (Kernel $kernel) {
        $kernel->held = (static function () { try { yield 1; } finally { echo 'generator '; } })();
        $kernel->held->current();
    },
    'delegating generator half way' => static function (Kernel $kernel) {
        $inner = static function () { yield 1; };
        $kernel->held = (static function () use ($inner) { try { yield from $inner(); } finally { echo 'generator '; } })();
        $kernel->held->current();
    },
    'generator half way, over an array' => static function (Kernel $kernel) {
        $kernel->held = (static function () { $array = [1, 2]; try { yield from $array; } finally { echo 'generator '; } })();
        $kernel->held->next();
    },
    'generator half way in finally' => static function (Kernel $kernel) {
        $kernel->held = (static function () { try { yield 1; } finally { yield 2; } })();
        foreach ($kernel->held as $n) { if ($n === 2) { break; } }
    },
];
file_put_contents(__DIR__ . '/included.php', '<?php exit(3);');
while (frankenphp_handle_request(static function () use ($kernel, $ways) {
    $way = array_keys($ways)[(int) $_SERVER['QUERY_STRING']];
    register_shutdown_function(static function () { echo '[shutdown]'; });
    echo "$way: ", $kernel->depth ? "DEPTH $kernel->depth " : '';
    $kernel->handle($ways[$way]);
    echo 'goes on ';
})) {}
--INI--
output_buffering=4096
session.save_path={ROOT}
session.use_cookies=0
--HOWDAH--
show end exit state
worker {ROOT}/test.php
var QUERY_STRING 0
run
wait-exit
respawn
var QUERY_STRING 1
run
wait-exit
respawn
var QUERY_STRING 2
run
wait-exit
respawn
var QUERY_STRING 3
run
wait-exit
respawn
var QUERY_STRING 4
run
wait-exit
respawn
var QUERY_STRING 5
run
wait-exit
respawn
var QUERY_STRING 6
run
wait-exit
respawn
var QUERY_STRING 7
run
wait-exit
respawn
var QUERY_STRING 8
run
wait-exit
respawn
var QUERY_STRING 9
run
wait-exit
respawn
var QUERY_STRING 10
run
wait-exit
respawn
var QUERY_STRING 11
run
wait-exit
respawn
var QUERY_STRING 12
run
wait-exit
respawn
var QUERY_STRING 13
run
wait-exit
respawn
var QUERY_STRING 14
run
wait-exit
respawn
var QUERY_STRING 15
run
wait-exit
respawn
var QUERY_STRING 16
run
wait-exit
respawn
var QUERY_STRING 17
run
wait-exit
respawn
var QUERY_STRING 18
run
wait-exit
respawn
var QUERY_STRING 19
run
wait-exit
respawn
var QUERY_STRING 20
run
wait-exit
respawn
var QUERY_STRING 21
run
wait-exit
respawn
var QUERY_STRING 22
run
wait-exit
respawn
var QUERY_STRING 23
run
wait-exit
respawn
var QUERY_STRING 24
run
wait-exit
respawn
var QUERY_STRING 25
run
wait-exit
respawn
var QUERY_STRING 26
run
wait-exit
respawn
var QUERY_STRING 27
run
wait-exit
--EXPECT--
finally returns: text [shutdown]
[end exit=4 status=0]
[state] ready
[state] retiring
[worker exited with status 0]
finally may return: [shutdown]
[end exit=4 status=0]
[state] ready
[state] retiring
[worker exited with status 0]
finally returns further out: text [shutdown]
[end exit=4 status=0]
[state] ready
[state] retiring
[worker exited with status 0]
finally returns in a loop: [shutdown]
[end exit=4 status=0]
[state] ready
[state] retiring
[worker exited with status 0]
finally yields: 1 [shutdown]
[end exit=4 status=0]
[state] ready
[state] retiring
[worker exited with status 0]
consumer returns: [shutdown]
[end exit=4 status=0]
[state] ready
[state] retiring
[worker exited with status 0]
outer generator returns: [shutdown]
[end exit=4 status=0]
[state] ready
[state] retiring
[worker exited with status 0]
outermost generator returns: [shutdown]
[end exit=4 status=0]
[state] ready
[state] retiring
[worker exited with status 0]
generator over an iterator returns: next [shutdown]
[end exit=4 status=0]
[state] ready
[state] retiring
[worker exited with status 0]
resumer of a fiber returns: fiber [shutdown]
[end exit=4 status=0]
[state] ready
[state] retiring
[worker exited with status 0]
includer returns: [shutdown]
[end exit=4 status=3]
[state] ready
[state] retiring
[worker exited with status 0]
destructor in finally that returns: gone [shutdown]
[end exit=4 status=0]
[state] ready
[state] retiring
[worker exited with status 0]
error handler in finally that returns: handled [shutdown]
[end exit=4 status=0]
[state] ready
[state] retiring
[worker exited with status 0]
shutdown function: finally goes on [shutdown]late 
[end exit=4 status=0]
[state] ready
[state] retiring
[worker exited with status 0]
output callback: text finally goes on [shutdown]
[end exit=4 status=0]
[state] ready
[state] retiring
[worker exited with status 0]
session handler: finally goes on [shutdown]
[end exit=4 status=0]
[state] ready
[state] retiring
[worker exited with status 0]
finally throws: instead finally goes on [shutdown]
[end exit=5 status=0]
[state] ready
[state] retiring
[worker exited with status 0]
destructor throws: instead finally goes on [shutdown]
[end exit=5 status=0]
[state] ready
[state] retiring
[worker exited with status 0]
dropped by an iterator: children 2 finally goes on [shutdown]
[end exit=5 status=0]
[state] ready
[state] retiring
[worker exited with status 0]
another exit in finally: first second finally [shutdown]
[end exit=5 status=0]
[state] ready
[state] retiring
[worker exited with status 0]
fiber that is destroyed: fiber finally goes on [shutdown]
[end exit=5 status=0]
[state] ready
[state] retiring
[worker exited with status 0]
suspended fiber: finally goes on [shutdown]
[end exit=6 status=0]
[state] ready
[state] retiring
[worker exited with status 0]
suspended fiber and exit: finally [shutdown]
[end exit=6 status=0]
[state] ready
[state] retiring
[worker exited with status 0]
fiber that suspends in finally: finally goes on [shutdown]
[end exit=5 status=0]
[state] ready
[state] retiring
[worker exited with status 0]
generator half way: finally goes on [shutdown]
[end exit=6 status=0]
[state] ready
[state] retiring
[worker exited with status 0]
delegating generator half way: finally goes on [shutdown]
[end exit=6 status=0]
[state] ready
[state] retiring
[worker exited with status 0]
generator half way, over an array: finally goes on [shutdown]
[end exit=6 status=0]
[state] ready
[state] retiring
[worker exited with status 0]
generator half way in finally: finally goes on [shutdown]
[end exit=6 status=0]
[state] ready
[state] retiring
[worker exited with status 0]
