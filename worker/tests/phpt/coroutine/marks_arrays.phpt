--TEST--
Coroutines: marks against recursion on arrays of a shared object are those of the request that is within them
--FILE--
<?php
final class Value implements JsonSerializable
{
    public function jsonSerialize(): string
    {
        usleep(700);
        return 'json';
    }

    public function __debugInfo(): array
    {
        usleep(700);
        return ['debug' => 1];
    }

    public function __serialize(): array
    {
        usleep(700);
        return ['value'];
    }
}

final class Sleeps
{
    public array $list = [[1]];

    public function __sleep(): array
    {
        usleep(700);
        return ['list'];
    }
}

$tree = new stdClass();
$tree->list = [['deep' => [new Value()]], new ArrayObject([[new Value()]]), [new Sleeps()]];
$tree->queue = new SplQueue();
$tree->queue[] = [[new Value()]];
$tree->storage = new SplObjectStorage();
$tree->storage[new stdClass()] = [[new Value()]];
$tree->fixed = SplFixedArray::fromArray([[new Value()]]);
$bag = (object) ['list' => [[1, [2]], 3], 'name' => 'bag'];
$ways = [
    'json' => static fn (): string => json_encode($tree) . json_last_error_msg(),
    'dump' => static function () use ($tree): string {
        ob_start();
        var_dump($tree);
        return ob_get_clean();
    },
    'print' => static fn (): string => print_r($tree, true),
    'serialize' => static fn (): string => serialize($tree),
    'serialize list' => static fn (): string => serialize($tree->list),
    'walk' => static function () use ($bag): string {
        $seen = '';
        array_walk_recursive($bag, static function (int|string $value) use (&$seen): void {
            usleep(700);
            $seen .= "$value ";
        });
        return $seen;
    },
    'export' => static fn (): string => var_export($tree->fixed->toArray() === [], true),
];
$alone = array_map(static fn (Closure $way): string => $way(), $ways);
while (frankenphp_handle_request(static function () use ($ways, $alone): void {
    for ($i = 0; $i < 6; $i++) {
        $names = array_keys($ways);
        $name = $names[($i + (int) $_GET['n']) % count($names)];
        if ($ways[$name]() !== $alone[$name]) {
            echo "$name is wrong ";
        }
    }
    echo 'done';
})) {
}
--HOWDAH--
worker {ROOT}/test.php
option concurrency 8
var QUERY_STRING n=0
push a
var QUERY_STRING n=1
push b
var QUERY_STRING n=2
push c
var QUERY_STRING n=3
push d
var QUERY_STRING n=4
push e
var QUERY_STRING n=0
push f
await a
await b
await c
await d
await e
await f
--EXPECT--
a: done
b: done
c: done
d: done
e: done
f: done
