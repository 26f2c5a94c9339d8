--TEST--
Coroutines: two of one request may load the same class, sort and serialise at a time
--FILE--
<?php
spl_autoload_register(function (string $class) {
    usleep(2000);
    require __DIR__ . "/$class.inc";
});

final class Slow implements Serializable
{
    public function __construct(public string $who = '')
    {
    }

    public function serialize(): string
    {
        return $this->who;
    }

    public function unserialize(string $data): void
    {
        $this->who = $data;
    }

    public function __serialize(): array
    {
        usleep(500);
        return [$this->who, $this];
    }

    public function __unserialize(array $data): void
    {
        usleep(500);
        $this->who = $data[0];
    }
}

function work(string $who): string
{
    $list = range(1, 9);
    usort($list, fn (int $a, int $b) => [usleep(100), $who === 'a' ? $a <=> $b : $b <=> $a][1]);
    $copy = unserialize(serialize([new Slow($who), new Slow("$who$who")]));
    return implode('', $list) . ' ' . implode(' ', array_column($copy, 'who')) . ' ' . Late::class . (new Late())->name();
}

while (frankenphp_handle_request(function () {
    echo implode("\n", Howdah\all([fn () => work('a'), fn () => work('b')])), "\n";
})) {
}
--FILE Late.inc--
<?php
class Late
{
    public function name(): string
    {
        return ' loaded';
    }
}
--HOWDAH--
worker {ROOT}/test.php
option concurrency 2
run
--EXPECT--
123456789 a aa Late loaded
987654321 b bb Late loaded
