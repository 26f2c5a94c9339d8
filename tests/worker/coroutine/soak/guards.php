<?php

// PHP's guards against recursion, on objects that all requests share. Each request must see only its own guards.

declare(strict_types=1);

/** Magic methods for a few names, so that several requests use the same ones. */
final class Magic
{
    private array $set = [];

    public function __get(string $name): string
    {
        usleep(300);
        return "<$name>";
    }

    public function __isset(string $name): bool
    {
        usleep(300);
        return true;
    }

    public function __set(string $name, mixed $value): void
    {
        usleep(300);
        $this->set[$name] = $value;
    }

    public function __unset(string $name): void
    {
        usleep(300);
        unset($this->set[$name]);
    }
}

/** Other requests run during the conversion by PHP. */
final class Slow implements JsonSerializable, Stringable
{
    public function jsonSerialize(): string
    {
        usleep(300);
        return 'json';
    }

    public function __toString(): string
    {
        usleep(300);
        return 'text';
    }

    public function __debugInfo(): array
    {
        usleep(300);
        return ['debug' => 1];
    }

    public function __serialize(): array
    {
        usleep(300);
        return ['slow'];
    }

    public function __unserialize(array $data): void
    {
        usleep(300);
    }
}

final class SlowHeap extends SplMinHeap
{
    protected function compare(mixed $a, mixed $b): int
    {
        usleep(50);
        return parent::compare($a, $b);
    }
}

$tree = new stdClass();
$tree->list = [['deep' => new Slow()], new ArrayObject([new Slow()])];
$tree->value = new Slow();
$tree->date = new DateTimeImmutable('2026-01-01 UTC');
$tree->period = new DateInterval('P1D');
$tree->storage = new SplObjectStorage();
$tree->storage[new Slow()] = new SplFixedArray(1);
$same = clone $tree;
$same->value = 'text';

$dump = static function (object $of): string {
    ob_start();
    var_dump($of);
    print_r($of);
    return ob_get_clean();
};
// The output of PHP without concurrent requests.
$alone = [
    'json' => json_encode($tree),
    'dump' => $dump($tree),
    'export' => var_export($tree->period, true),
    'serialize' => serialize($tree),
];

return static fn (object $shared): array => [
    'magic' => static function (string $id) use ($shared): void {
        $magic = $shared->get('magic', static fn (): object => new Magic());
        $name = 'p' . crc32($id) % 3;
        need($magic->$name === "<$name>", '__get() of another one');
        need(isset($magic->$name) && !empty($magic->$name), '__isset() of another one');
        $magic->$name = $id;
        unset($magic->$name);
        need(get_object_vars($magic) === [], 'a property past __set()');
    },
    'json' => static function () use ($tree, $alone): void {
        $json = json_encode($tree);
        need($json === $alone['json'] && json_last_error() === 0, "json_encode() of another one: $json");
    },
    'dump' => static function () use ($tree, $alone, $dump): void {
        $text = $dump($tree);
        need($text === $alone['dump'], "var_dump() or print_r() of another one: $text");
        need(var_export($tree->period, true) === $alone['export'], 'var_export() of another one');
    },
    'compare' => static function () use ($tree, $same): void {
        need($tree == $same && !($tree < $same), 'the comparison of another one');
        need(in_array('text', [$tree->value]), 'in_array() of another one');
    },
    'serialize' => static function () use ($tree, $alone): void {
        $text = serialize($tree);
        need($text === $alone['serialize'], "serialize() of another one: $text");
        need(serialize(unserialize($text)) === $text, 'unserialize() of another one');
    },
    'heap' => static function (string $id) use ($shared): void {
        $heap = $shared->get('heap', static fn (): object => new SlowHeap());
        $heap->insert($id);
        need(is_string($heap->extract()) && !$heap->isCorrupted(), 'the heap of another one');
    },
    'sort' => static function (string $id) use ($shared): void {
        $object = $shared->get('sort', static fn (): object => new ArrayObject(range(1, 6)));
        $sign = crc32($id) % 2 ? 1 : -1;
        $object->uasort(static function (int $a, int $b) use ($sign): int {
            usleep(50);
            return $sign * ($a <=> $b);
        });
        $values = $object->getArrayCopy();
        sort($values);
        need($values === range(1, 6), 'the sort of another one');
    },
    'walk' => static function () use ($tree): void {
        [$list, $count] = [$tree->list, 0];
        array_walk_recursive($list, static function () use (&$count): void {
            usleep(50);
            $count++;
        });
        need($count === 2, 'array_walk_recursive() of another one');
    },
];
