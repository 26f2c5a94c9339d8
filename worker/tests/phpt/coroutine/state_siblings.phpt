--TEST--
Coroutines: two of one request may load the same class, sort, serialise, handle an error and open a stream at a time
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

final class SlowStream
{
    public mixed $context;
    private bool $read = false;

    public function stream_open(): bool
    {
        usleep(1000);
        return true;
    }

    public function stream_read(): string
    {
        [$this->read, $before] = [true, $this->read];
        return $before ? '' : ' stream';
    }

    public function stream_eof(): bool
    {
        return $this->read;
    }

    public function stream_stat(): array
    {
        return [];
    }
}

function work(string $who): string
{
    trigger_error("error of $who");
    $list = range(1, 9);
    usort($list, fn (int $a, int $b) => [usleep(100), $who === 'a' ? $a <=> $b : $b <=> $a][1]);
    $copy = unserialize(serialize([new Slow($who), new Slow("$who$who")]));
    return implode('', $list) . ' ' . implode(' ', array_column($copy, 'who')) . ' ' . Late::class . (new Late())->name()
        . file_get_contents('slow://');
}

while (frankenphp_handle_request(function () {
    stream_wrapper_register('slow', SlowStream::class);
    set_error_handler(function (int $type, string $message): bool {
        usleep(1000);
        echo "$message\n";
        return true;
    });
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
error of a
error of b
123456789 a aa Late loaded stream
987654321 b bb Late loaded stream
