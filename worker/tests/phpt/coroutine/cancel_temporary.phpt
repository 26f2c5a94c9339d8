--TEST--
Coroutines: code that is cancelled between two instructions frees the operands of the second one
--INI--
max_execution_time=0
--FILE--
<?php
function text(): string
{
    return str_repeat('x', 10000);
}

final class Box implements ArrayAccess
{
    private array $held;

    public function __construct()
    {
        $this->held = [text()];
    }

    public function use(mixed ...$values): int
    {
        return count($values);
    }

    public function offsetExists(mixed $key): bool
    {
        return true;
    }

    public function offsetGet(mixed $key): mixed
    {
        return text();
    }

    public function offsetSet(mixed $key, mixed $value): void
    {
    }

    public function offsetUnset(mixed $key): void
    {
    }
}

function box(): Box
{
    usleep(0);
    return new Box();
}

$loops = [
    'argument' => static fn () => strlen(str_repeat('x', 10000)),
    'object' => static fn () => box()->use(text(), str_repeat('y', 10000)),
    'new' => static fn () => (new ArrayObject([text()]))->count(),
    'operand' => static fn () => str_repeat('x', 10000) . strtoupper(text()),
    'rope' => static fn () => "a{$_GET['a']}" . strtolower(text()) . "b" . strrev(text()) . "c" . text() . ucfirst(text()),
    'pieces' => static function (): void {
        $f = 'strrev';
        $text = "<{$f(text())}-{$f(text())}>";
    },
    'array' => static fn () => [text() => strrev(text()), 'b' => [strrev(text())]],
    'element' => static function (): void {
        static $box = new stdClass();
        $a = [];
        $a[strrev(text())] = ucfirst(text());
        $box->{ucfirst('ab')} = ucfirst(text());
        $box = new stdClass();
    },
    'choice' => static fn () => count(array_filter([text()])) ? ucfirst(text()) : lcfirst(text()),
    'match' => static fn () => match (ucfirst(text())) {
        'a' => strrev('a'),
        default => strrev(text()),
    },
    'loop' => static function (): void {
        foreach (str_split(text(), 4000) as $piece) {
            ucfirst($piece);
            foreach (new ArrayIterator(str_split($piece, 1000)) as $key => $other) {
                strrev($other);
            }
        }
    },
    'silence' => static fn () => @strlen(@file_get_contents(strrev('/enon/'))) . @ucfirst(text()),
    'access' => static fn () => (new ArrayObject([text()]))[strlen('')] . (new Box())[strrev('ab')],
    'generator' => static function (): void {
        foreach ((static function (): Generator {
            yield strrev(text()) => ucfirst(text());
            yield from array_map('strrev', [text()]);
        })() as $key => $value) {
            strlen($value);
        }
    },
    'throw' => static function (): void {
        try {
            throw new Exception(strrev(text()));
        } catch (Exception $exception) {
            ucfirst($exception->getMessage());
        }
    },
];

while (frankenphp_handle_request(static function () use ($loops): void {
    foreach ($loops as $name => $loop) {
        $report = error_reporting();
        for ($i = 0, $before = 0; $i < 30; $i++) {
            if ($i === 10) {
                gc_collect_cycles();
                $before = memory_get_usage();
            }
            try {
                Howdah\timeout(0.0015, static function () use ($loop): never {
                    for (;;) {
                        $loop();
                    }
                });
            } catch (Howdah\TimeoutException) {
            }
            usleep(0); // it is unwound
            if (error_reporting() !== $report) {
                echo "$name left error_reporting\n";
            }
        }
        gc_collect_cycles();
        $grown = memory_get_usage() - $before;
        if ($grown > 50_000) {
            echo "$name left $grown bytes\n";
        }
    }
    echo "done\n";
})) {
}
--HOWDAH--
worker {ROOT}/test.php
option concurrency 2
option time_slice_ms 1
var QUERY_STRING a=xyz
run
stop
--EXPECT--
done
