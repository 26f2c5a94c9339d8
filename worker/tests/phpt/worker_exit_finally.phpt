--TEST--
Worker mode: exit() runs `finally` blocks and cannot be caught, wherever it is called
--FILE--
<?php
final class Kernel {
    public int $depth = 0;
    public function handle(callable $controller): mixed {
        $this->depth++;
        try {
            return $controller();
        } catch (Throwable $error) {
            echo 'CAUGHT ', get_class($error), ' ';
            return null;
        } finally {
            $this->depth--;
            echo 'finally ';
        }
    }
}
$kernel = new Kernel();
file_put_contents(__DIR__ . '/included.php', '<?php exit(3);');
file_put_contents(__DIR__ . '/compiled.php', '<?php try { exit("in a file "); } finally { echo "file "; }');
$ways = [
    'controller' => static fn () => exit('bye '),
    'die' => static fn () => die('dead '),
    'status' => static fn () => exit(7),
    'no value' => static function () { exit; },
    'silenced' => static fn () => @exit('quiet '),
    'expression' => static fn () => null ?? exit('expression '),
    'reference' => static function () { $text = 'by reference '; $other = &$text; exit($other); },
    'object' => static fn () => exit(new class { public function __toString(): string { return 'object '; } }),
    'nested' => static function () { try { try { exit; } finally { echo 'inner '; } } finally { echo 'outer '; } },
    'catch block' => static function () { try { throw new Exception(); } catch (Exception) { exit; } finally { echo 'inner '; } },
    'finally block' => static function () { try { echo 'a '; } finally { exit('in it '); } },
    'returning finally before' => static function () { (static function () { try { return 1; } finally { return 2; } })(); exit('later '); },
    'returning finally behind' => static function () { exit('first '); (static function () { try { return 1; } finally { return 2; } })(); },
    'array_map' => static fn () => array_map(static fn () => exit('mapped '), [1, 2]),
    'usort' => static function () { $list = [3, 1, 2]; usort($list, static fn () => exit('sorted ')); },
    'preg_replace_callback' => static fn () => preg_replace_callback('/a/', static fn () => exit('replaced '), 'aaa'),
    'iterator_apply' => static fn () => iterator_apply($it = new ArrayIterator([1]), static fn () => exit('applied ')),
    'call_user_func' => static fn () => call_user_func_array(static fn () => exit('called '), []),
    'reflection' => static fn () => (new ReflectionFunction(static fn () => exit('reflected ')))->invoke(),
    'generator' => static function () { foreach ((static function () { try { yield 1; exit; } finally { echo 'generator '; } })() as $_) {} },
    'yield from' => static function () {
        $inner = static function () { try { yield 1; exit; } finally { echo 'inner '; } };
        foreach ((static function () use ($inner) { try { yield from $inner(); } finally { echo 'outer '; } })() as $_) {}
    },
    'consumer of a generator' => static function () { foreach ((static function () { try { yield 1; yield 2; } finally { echo 'generator '; } })() as $_) { exit; } },
    'fiber' => static function () {
        $fiber = new Fiber(static function () { try { Fiber::suspend(); exit; } finally { echo 'fiber '; } });
        $fiber->start();
        try { $fiber->resume(); } finally { echo 'resumer '; }
    },
    'fiber in fiber' => static fn () => (new Fiber(static fn () => (new Fiber(static fn () => exit('deep ')))->start()))->start(),
    'beside a fiber' => static function () { $fiber = new Fiber(static function () { try { Fiber::suspend(); } finally { echo 'fiber '; } }); $fiber->start(); exit; },
    'destructor' => static function () { $o = new class { public function __destruct() { exit('gone '); } }; try { unset($o); } finally { echo 'inner '; } },
    'destructor at the end' => static function () { $o = new class { public function __destruct() { exit('gone '); } }; },
    'constructor' => static fn () => new class { public function __construct() { exit('made '); } },
    '__toString' => static fn () => 'a' . new class { public function __toString(): string { exit('text '); } },
    '__get' => static fn () => (new class { public function __get(string $name): mixed { exit('got '); } })->missing,
    '__call' => static fn () => (new class { public function __call(string $name, array $arguments): mixed { exit('called '); } })->missing(),
    'ArrayAccess' => static fn () => (new class extends ArrayObject { public function offsetGet(mixed $key): mixed { exit('offset '); } })[1],
    'JsonSerializable' => static fn () => json_encode(new class implements JsonSerializable { public function jsonSerialize(): mixed { exit('json '); } }),
    'iterator' => static function () { foreach (new class implements IteratorAggregate { public function getIterator(): Iterator { exit('iterator '); } } as $_) {} },
    'countable' => static fn () => count(new class implements Countable { public function count(): int { exit('count '); } }),
    'output buffer' => static function () { ob_start(static fn (string $text) => strtoupper($text)); echo 'shout '; try { exit; } finally { ob_end_flush(); } },
    'open buffers' => static function () { ob_start(static fn (string $text) => strtoupper($text)); ob_start(); echo 'open '; exit; },
    'output callback' => static function () { ob_start(static function ($text) { exit; }); echo 'x'; ob_end_flush(); },
    'error handler' => static function () { set_error_handler(static fn () => exit('handled ')); echo $undefined; },
    'exception handler' => static function () use ($kernel) { $kernel->depth--; set_exception_handler(static fn () => exit('handler ')); throw new Exception(); },
    'autoloader' => static function () { spl_autoload_register(static fn () => exit('autoload ')); new NotThere(); },
    'class_exists' => static function () { spl_autoload_register(static fn () => exit('autoload ')); class_exists('NotThere'); },
    'tick function' => static function () { declare(ticks=1) { register_tick_function(static fn () => exit('tick ')); echo 'never'; } },
    'included file' => static function () { try { include __DIR__ . '/included.php'; } finally { echo 'includer '; } },
    'file with finally' => static fn () => require __DIR__ . '/compiled.php',
    'eval' => static fn () => eval('try { exit("evaluated "); } finally { echo "eval "; }'),
    'static method' => static fn () => (new class { public static function leave(): never { exit('static '); } })::leave(),
    'default value' => static function () { (static function (mixed $x = new ArrayObject()) { exit('default '); })(); },
    'match' => static fn () => match (true) { true => exit('matched ') },
    'stream wrapper' => static function () {
        stream_wrapper_register('leaving', get_class(new class { public mixed $context; public function stream_open(string $path): bool { exit('opened '); } }));
        fopen('leaving://', 'r');
    },
    'stream filter' => static function () {
        stream_filter_register('leaving', get_class(new class extends php_user_filter { public function filter($in, $out, &$consumed, bool $closing): int { exit('filtered '); } }));
        $stream = fopen('php://memory', 'w+');
        stream_filter_append($stream, 'leaving', STREAM_FILTER_WRITE);
        @fwrite($stream, 'x'); // what it left is a warning
    },
    'session handler' => static function () {
        session_set_save_handler(new class extends SessionHandler { public function read(string $id): string|false { exit('session '); } });
        session_start();
    },
    'header callback' => static function () { header_register_callback(static fn () => exit('callback ')); ob_end_flush(); flush(); },
    'comparison' => static function () { $a = new ArrayObject(); $sorted = new class extends SplMinHeap { protected function compare(mixed $a, mixed $b): int { exit('compared '); } }; $sorted->insert(1); $sorted->insert(2); },
    'shutdown function' => static function () use ($kernel) { register_shutdown_function(static function () use ($kernel) { $kernel->handle(static fn () => exit('at the end ')); }); },
];
$names = [...array_keys($ways), 'destructor of the result', 'none'];
while ($names && frankenphp_handle_request(static function () use ($kernel, $ways, &$names) {
    $way = array_shift($names);
    echo "$way: ", $kernel->depth ? "DEPTH $kernel->depth " : '';
    if ($way === 'exception handler') {
        $kernel->depth++;
        $ways[$way]();
    }
    if ($way === 'destructor of the result') {
        return new class ($kernel) {
            public function __construct(private Kernel $kernel) {}
            public function __destruct() { $this->kernel->handle(static fn () => exit('result ')); }
        };
    }
    $kernel->handle($ways[$way] ?? static fn () => print('fine '));
    echo match ($way) { 'shutdown function', 'none' => 'returned ', default => 'NOT REACHED' };
})) {}
--INI--
zend.enable_gc=1
output_buffering=4096
session.save_path={ROOT}
session.use_cookies=0
opcache.file_update_protection=0
--HOWDAH--
show end exit state
worker {ROOT}/test.php
run
run
run
run
run
run
run
run
run
run
run
run
run
run
run
run
run
run
run
run
run
run
run
run
run
run
run
run
run
run
run
run
run
run
run
run
run
run
run
run
run
run
run
run
run
run
run
run
run
run
run
run
run
run
run
run
run
stop
--EXPECT--
controller: bye finally 
[end exit=2 status=0]
[state] ready
die: dead finally 
[end exit=2 status=0]
status: finally 
[end exit=2 status=7]
no value: finally 
[end exit=2 status=0]
silenced: quiet finally 
[end exit=2 status=0]
expression: expression finally 
[end exit=2 status=0]
reference: by reference finally 
[end exit=2 status=0]
object: object finally 
[end exit=2 status=0]
nested: inner outer finally 
[end exit=2 status=0]
catch block: inner finally 
[end exit=2 status=0]
finally block: a in it finally 
[end exit=2 status=0]
returning finally before: later finally 
[end exit=2 status=0]
returning finally behind: first finally 
[end exit=2 status=0]
array_map: mapped finally 
[end exit=2 status=0]
usort: sorted finally 
[end exit=2 status=0]
preg_replace_callback: replaced finally 
[end exit=2 status=0]
iterator_apply: applied finally 
[end exit=2 status=0]
call_user_func: called finally 
[end exit=2 status=0]
reflection: reflected finally 
[end exit=2 status=0]
generator: generator finally 
[end exit=2 status=0]
yield from: inner outer finally 
[end exit=2 status=0]
consumer of a generator: generator finally 
[end exit=2 status=0]
fiber: fiber resumer finally 
[end exit=2 status=0]
fiber in fiber: deep finally 
[end exit=2 status=0]
beside a fiber: fiber finally 
[end exit=2 status=0]
destructor: gone inner finally 
[end exit=2 status=0]
destructor at the end: gone finally 
[end exit=2 status=0]
constructor: made finally 
[end exit=2 status=0]
__toString: text finally 
[end exit=2 status=0]
__get: got finally 
[end exit=2 status=0]
__call: called finally 
[end exit=2 status=0]
ArrayAccess: offset finally 
[end exit=2 status=0]
JsonSerializable: json finally 
[end exit=2 status=0]
iterator: iterator finally 
[end exit=2 status=0]
countable: count finally 
[end exit=2 status=0]
output buffer: SHOUT finally 
[end exit=2 status=0]
open buffers: OPEN FINALLY 
[end exit=2 status=0]
output callback: xfinally 
[end exit=2 status=0]
error handler: handled finally 
[end exit=2 status=0]
exception handler: handler 
[end exit=2 status=0]
autoloader: autoload finally 
[end exit=2 status=0]
class_exists: autoload finally 
[end exit=2 status=0]
tick function: tick finally 
[end exit=2 status=0]
included file: includer finally 
[end exit=2 status=3]
file with finally: in a file file finally 
[end exit=2 status=0]
eval: evaluated eval finally 
[end exit=2 status=0]
static method: static finally 
[end exit=2 status=0]
default value: default finally 
[end exit=2 status=0]
match: matched finally 
[end exit=2 status=0]
stream wrapper: opened finally 
[end exit=2 status=0]
stream filter: filtered finally 
[end exit=2 status=0]
session handler: session finally 
[end exit=2 status=0]
callback header callback: finally 
[end exit=2 status=0]
comparison: compared finally 
[end exit=2 status=0]
shutdown function: finally returned at the end finally 
[end exit=2 status=0]
destructor of the result: result finally 
[end exit=2 status=0]
none: fine finally returned 
[end exit=0 status=0]
[worker exited with status 0]
