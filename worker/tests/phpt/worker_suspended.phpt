--TEST--
Worker mode: a Fiber or generator that a request leaves runs its `finally` blocks if no reference is left, and is left alone without them
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
$long = (static function () { try { for ($n = 1;; $n++) { yield $n; } } finally { echo 'never'; } })();
$long->current();
$n = 0;
while (frankenphp_handle_request(static function () use ($kernel, $long, &$n) {
    echo ++$n, $kernel->depth ? " DEPTH $kernel->depth" : '', ': ';
    switch ($n) {
        case 1: // in a circle
            $fiber = new Fiber(static function () use ($kernel, &$fiber) { $kernel->handle(static fn () => Fiber::suspend()); });
            $fiber->start();
            break;
        case 2:
            $generator = (static function () use ($kernel, &$generator) { $kernel->depth++; try { yield 1; } finally { $kernel->depth--; echo 'finally '; } })();
            $generator->current();
            break;
        case 3: // by exit() besides
            $fiber = new Fiber(static function () use ($kernel, &$fiber) { $kernel->handle(static fn () => Fiber::suspend()); });
            $fiber->start();
            exit('left ');
        case 4: // has nothing to put right
            $kernel->held = new Fiber(static function () { echo Fiber::suspend(), ' '; });
            $kernel->held->start();
            break;
        case 5:
            $kernel->held->resume('goes on');
            $kernel->held = (static function () { try { yield 1; } finally { echo 'ends '; } yield 2; })();
            foreach ($kernel->held as $value) { if ($value === 2) { break; } }
            break;
        case 6:
            $kernel->held = (static function () { try { yield 1; } finally { echo 'not begun '; } })();
            break;
        case 7: // of the boot
            $long->next();
            echo $long->current(), ' ';
            $kernel->held = null;
            break;
        case 8: // many, all gone
            for ($i = 0; $i < 10000; $i++) { $many[] = (static function () { try { yield 1; } finally {} })(); }
            echo count($many), ' ';
            break;
        case 9: // one that was left alone, and is left again elsewhere
            $kernel->held = (static function () { yield 1; try { yield 2; } finally { echo 'ends '; } })();
            $kernel->held->current();
            break;
        case 10: // between two blocks
            $kernel->held = (static function () { try { yield 1; } finally { echo 'first '; } yield 2; try { yield 3; } finally { echo 'second '; } })();
            $kernel->held->next();
            break;
        case 11: // and behind the last
            $kernel->held->next();
            $kernel->held = (static function () { try { yield from [1]; } finally { echo 'over '; } yield from [2, 3]; })();
            foreach ($kernel->held as $value) { if ($value === 2) { break; } }
            break;
        case 12:
            $kernel->held = (static function () { yield 1; try { yield 2; } finally { echo 'ends '; } })();
            $kernel->held->current();
            break;
        case 13:
            $kernel->held->next();
            break;
    }
    echo 'end';
})) {}
--INI--
output_buffering=4096
--HOWDAH--
show end exit state log
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
wait-exit
--EXPECT--
1: endfinally 
[end exit=0 status=0]
[state] ready
2: endfinally 
[end exit=0 status=0]
3: left finally 
[end exit=2 status=0]
4: end
[end exit=0 status=0]
5: goes on ends end
[end exit=0 status=0]
6: end
[end exit=0 status=0]
7: 2 end
[end exit=0 status=0]
8: 10000 end
[end exit=0 status=0]
9: end
[end exit=0 status=0]
10: first end
[end exit=0 status=0]
11: second over end
[end exit=0 status=0]
12: end
[end exit=0 status=0]
13: end
[end exit=6 status=0]
[log n 13] This process is replaced after the request "GET /test.php": it left a Fiber or generator within a `try` with `finally`
[state] retiring
[log i 0] neverends 
[worker exited with status 0]
