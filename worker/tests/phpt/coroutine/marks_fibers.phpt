--TEST--
Coroutines: marks against recursion of a suspended Fiber, and of array_walk_recursive(), are those of their request
--FILE--
<?php
/** Returns when $count requests are here. The object is shared, as objects are. */
function meet(stdClass $place, int $count = 3): void
{
    $place->round ??= 0;
    $place->here = ($place->here ?? 0) + 1;
    $round = $place->round;
    if ($place->here === $count) {
        $place->here = 0;
        $place->round++;
    }
    while ($place->round === $round) {
        usleep(500);
    }
}

final class Lazy
{
    private array $set = [];

    public function __get(string $name): mixed
    {
        Fiber::suspend();
        return "<$name>";
    }

    public function __set(string $name, mixed $value): void
    {
        Fiber::suspend();
        $this->set[$name] = $value;
    }
}

function run(Closure $code, stdClass $place): mixed
{
    $fiber = new Fiber($code);
    $fiber->start();
    meet($place); // all of them are suspended in the method
    while (!$fiber->isTerminated()) {
        $fiber->resume();
    }
    return $fiber->getReturn();
}

$shared = new stdClass();
$shared->place = new stdClass();
$shared->lazy = new Lazy();
$shared->tree = ['a' => ['b' => 1, 'c' => ['d' => 2]]];
spl_autoload_register(function (string $class): void {
    Fiber::getCurrent() && Fiber::suspend();
    require_once __DIR__ . "/$class.inc";
});
while (frankenphp_handle_request(static function () use ($shared) {
    $n = (int) $_GET['n'];
    try {
        switch ($_GET['do']) {
            case 'get':
                echo run(static fn () => $shared->lazy->name, $shared->place);
                break;
            case 'set':
                run(static fn () => $shared->lazy->name = 'x', $shared->place);
                meet($shared->place);
                echo json_encode(array_key_exists('name', get_object_vars($shared->lazy)));
                break;
            case 'walk':
                $sum = 0;
                meet($shared->place);
                array_walk_recursive($shared->tree, static function (int $value) use (&$sum) {
                    usleep(500);
                    $sum += $value;
                });
                echo $sum;
                break;
            case 'count':
                meet($shared->place);
                if ($n === 1) {
                    array_walk_recursive($shared->tree, static fn () => usleep(2000));
                } else {
                    usleep(1000);
                }
                echo count($shared->tree, COUNT_RECURSIVE);
                break;
            case 'class':
                $fiber = new Fiber(static fn () => new Child());
                $fiber->start();
                usleep(2000); // within the declaration of the class, or waiting for it
                while (!$fiber->isTerminated()) {
                    $fiber->resume();
                }
                echo $fiber->getReturn()->name();
                break;
        }
    } catch (Throwable $error) {
        echo get_class($error), ': ', $error->getMessage();
    }
})) {
}
--FILE Child.inc--
<?php
Fiber::getCurrent() && Fiber::suspend();
class Child extends Base
{
}
--FILE Base.inc--
<?php
Fiber::getCurrent() && Fiber::suspend();
class Base
{
    public function name(): string
    {
        return 'child';
    }
}
--HOWDAH--
worker {ROOT}/test.php
option concurrency 4
var QUERY_STRING do=get&n=1
push get1
var QUERY_STRING do=get&n=2
push get2
var QUERY_STRING do=get&n=3
push get3
await get1
await get2
await get3
var QUERY_STRING do=set&n=1
push set1
var QUERY_STRING do=set&n=2
push set2
var QUERY_STRING do=set&n=3
push set3
await set1
await set2
await set3
var QUERY_STRING do=walk&n=1
push walk1
var QUERY_STRING do=walk&n=2
push walk2
var QUERY_STRING do=walk&n=3
push walk3
await walk1
await walk2
await walk3
var QUERY_STRING do=count&n=1
push count1
var QUERY_STRING do=count&n=2
push count2
var QUERY_STRING do=count&n=3
push count3
await count1
await count2
await count3
var QUERY_STRING do=class&n=1
push class1
var QUERY_STRING do=class&n=2
push class2
var QUERY_STRING do=class&n=3
push class3
await class1
await class2
await class3
--EXPECT--
get1: <name>
get2: <name>
get3: <name>
set1: false
set2: false
set3: false
walk1: 3
walk2: 3
walk3: 3
count1: 4
count2: 4
count3: 4
class1: child
class2: child
class3: child
