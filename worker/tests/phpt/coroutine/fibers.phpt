--TEST--
Coroutines: Fibers and generators of PHP code within requests that wait
--FILE--
<?php
function numbers(string $name): Generator
{
    for ($i = 1; $i <= 3; $i++) {
        usleep(500);
        yield "$name$i";
    }
    return 'done';
}

/** A scheduler of the application's own. */
function together(callable ...$tasks): array
{
    $fibers = array_map(static fn ($task) => new Fiber($task), $tasks);
    $results = [];
    foreach ($fibers as $fiber) {
        $fiber->start();
    }
    while (count($results) < count($fibers)) {
        foreach ($fibers as $i => $fiber) {
            if ($fiber->isSuspended()) {
                usleep(100);
                $fiber->resume($i);
            } elseif ($fiber->isTerminated()) {
                $results[$i] = $fiber->getReturn();
            }
        }
    }
    ksort($results);
    return $results;
}

while (frankenphp_handle_request(static function () {
    $name = $_GET['n'];
    $results = together(
        static function () use ($name) {
            $text = '';
            foreach (numbers($name) as $number) {
                $text .= Fiber::suspend() . $number;
            }
            return $text;
        },
        static function () use ($name) {
            usleep(2000);
            $inner = new Fiber(static function () use ($name) {
                usleep(1000);
                $got = Fiber::suspend("$name inner");
                usleep(1000);
                throw new LogicException("$got thrown");
            });
            $text = $inner->start();
            Fiber::suspend();
            try {
                $inner->resume($name);
            } catch (LogicException $e) {
                $text .= ' ' . $e->getMessage();
            }
            return $text;
        },
        static function () use ($name) {
            $gen = (static fn () => yield from numbers($name))();
            $values = iterator_to_array($gen, false);
            return implode(',', $values) . ' ' . $gen->getReturn();
        },
    );
    $left = new Fiber(static function () use ($name) {
        try {
            Fiber::suspend();
        } finally {
            usleep(100);
            echo "[$name cleaned up]";
        }
    });
    $left->start();
    unset($left);
    echo implode(' | ', $results);
})) {}
--HOWDAH--
show exit
option concurrency 4
worker {ROOT}/test.php
var QUERY_STRING n=a
push a
var QUERY_STRING n=b
push b
var QUERY_STRING n=c
push c
await a
await b
await c
stop
--EXPECT--
a: [a cleaned up]0a10a20a3 | a inner a thrown | a1,a2,a3 done
b: [b cleaned up]0b10b20b3 | b inner b thrown | b1,b2,b3 done
c: [c cleaned up]0c10c20c3 | c inner c thrown | c1,c2,c3 done
[worker exited with status 0]
