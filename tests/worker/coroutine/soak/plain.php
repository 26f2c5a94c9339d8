<?php

// Steps that need only PHP and the server.

declare(strict_types=1);

return static fn (object $shared, string $dir): array => [
    'sleep' => static fn (string $id) => usleep(crc32($id) % 5000),
    'yield' => static fn (string $id) => usleep(0),
    'buffer' => static function (string $id): void {
        ob_start();
        echo $id;
        usleep(2000);
        need(ob_get_clean() === $id, 'another output buffer');
    },
    'fiber' => static function (string $id): void {
        $inner = new Fiber(static function () use ($id): string {
            usleep(1000);
            $got = Fiber::suspend("$id-1");
            usleep(1000);
            return $got;
        });
        $outer = new Fiber(static function () use ($inner, $id): string {
            $first = $inner->start();
            usleep(1000);
            $inner->resume("$first-$id");
            return $inner->getReturn();
        });
        $outer->start();
        need($outer->getReturn() === "$id-1-$id", 'another fiber');
    },
    'generator' => static function (string $id): void {
        $parts = (static function () use ($id) {
            foreach (str_split($id) as $part) {
                usleep(500);
                yield $part;
            }
        })();
        need(implode('', iterator_to_array($parts, false)) === $id, 'another generator');
    },
    'callback' => static function (string $id): void {
        $parts = str_split($id);
        usort($parts, static function ($a, $b): int {
            usleep(200);
            return $a <=> $b;
        });
        $expected = str_split($id);
        sort($expected);
        need($parts === $expected, 'another sort');
    },
    'cancel' => static function (string $id) use ($shared): void {
        $cancelled = false;
        try {
            Howdah\timeout(0.001, static function () use ($id, $shared): void {
                spl_object_id($shared);
                spl_object_id(sleep(60)); // is left out, and the shared object stays
                throw new LogicException("$id was not cancelled");
            });
        } catch (Howdah\TimeoutException) {
            $cancelled = true;
        }
        need($cancelled, 'was not cancelled');
    },
    'wrapper' => static function (string $id): void {
        $class = crc32($id) % 2 ? Told::class : ToldToOthers::class;
        stream_wrapper_register('soak', $class);
        usleep(2000);
        need(@file_get_contents("soak://$id") === "$class$id", 'another stream wrapper');
        stream_wrapper_unregister('soak');
    },
    'file' => static function (string $id) use ($dir): void {
        $name = "$dir/file-$id";
        file_put_contents($name, $id);
        usleep(500);
        need(file_get_contents($name) === $id, 'another file');
        unlink($name);
    },
    'lock' => static function (string $id) use ($dir): void {
        $file = fopen("$dir/lock", 'c+');
        need(flock($file, LOCK_EX), 'flock failed');
        ftruncate($file, 0);
        rewind($file);
        fwrite($file, $id);
        usleep(500);
        rewind($file);
        need(($got = stream_get_contents($file)) === $id, "the lock of another one: $got");
        flock($file, LOCK_UN);
        fclose($file);
    },
    'http' => static function (string $id): void {
        $target = "http://{$_SERVER['HTTP_HOST']}/?op=echo&id=$id&client={$_GET['client']}";
        $context = stream_context_create(['http' => ['header' => "X-Id: $id"]]);
        $got = file_get_contents($target, false, $context);
        need($got === $id, 'the answer of another one: ' . var_export($got, true));
    },
    'curl' => static function (string $id): void {
        $curl = curl_init("http://{$_SERVER['HTTP_HOST']}/?op=echo&id=$id&client={$_GET['client']}");
        curl_setopt_array($curl, [CURLOPT_RETURNTRANSFER => true, CURLOPT_HTTPHEADER => ["X-Id: $id"]]);
        $got = curl_exec($curl);
        need($got === $id, 'the answer of another one: ' . var_export($got, true) . ' ' . curl_error($curl));
    },
    'sqlite' => static function (string $id): void {
        $pdo = new PDO('sqlite::memory:');
        $got = $pdo->query('SELECT ' . $pdo->quote($id))->fetchColumn();
        usleep(500);
        need($got === $id, 'another row');
    },
];

/** A stream that stores the request which opened it. */
class Told
{
    public $context;
    private string $left = '';

    public function stream_open(string $path): bool
    {
        $this->left = static::class . parse_url($path, PHP_URL_HOST);
        return true;
    }

    public function stream_read(int $count): string
    {
        [$read, $this->left] = [substr($this->left, 0, $count), substr($this->left, $count)];
        return $read;
    }

    public function stream_eof(): bool
    {
        return $this->left === '';
    }

    public function stream_stat(): array
    {
        return [];
    }
}

final class ToldToOthers extends Told
{
}
