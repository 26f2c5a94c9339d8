<?php

// Connections that requests share, and connections that PHP would store for all of them. Services are used if the
// environment names them.

declare(strict_types=1);

/** Connections of this request whose call was aborted. It has lost them, and the next request gets others. */
final class Cut
{
    public static array $names = [];
}

/** The only error that an abort may cause: the connection is closed. */
function need_gone(mysqli_sql_exception $exception): void
{
    need(in_array($exception->getCode(), [2006, 2013], true), "mysqli: {$exception->getMessage()}");
}

$mysqli = static fn (): mysqli => new mysqli('localhost', 'root', '', 'bench', 0, getenv('SOAK_MYSQLI'));
$pdo = static fn (object $shared, string $name): PDO => $shared->get($name, static function () use ($name): PDO {
    return new PDO(getenv($name), ...($name === 'SOAK_MYSQL' ? ['root', ''] : []));
});
$redis = static fn (object $shared): Redis => $shared->get('redis', static function (): Redis {
    $redis = new Redis();
    $redis->connect(getenv('SOAK_REDIS'));
    return $redis;
});
$memcached = static fn (object $shared): Memcached => $shared->get('memcached', static function (): Memcached {
    $memcached = new Memcached();
    $memcached->addServer(getenv('SOAK_MEMCACHED'), 0);
    return $memcached;
});
$transaction = static function (PDO $pdo, string $id): void {
    $pdo->beginTransaction();
    $pdo->prepare('INSERT INTO soak VALUES (?)')->execute([$id]);
    usleep(1000);
    $count = $pdo->prepare('SELECT COUNT(*) FROM soak WHERE id = ?');
    $count->execute([$id]);
    need((int) $count->fetchColumn() === 1, 'the transaction of another one');
    $pdo->rollBack();
    $count->execute([$id]);
    need((int) $count->fetchColumn() === 0, 'it was not rolled back');
};
/** Aborts a call at an arbitrary point. */
$cut = static function (string $id, string $name, Closure $call): void {
    if (isset(Cut::$names[$name])) {
        return;
    }
    try {
        Howdah\timeout((1 + crc32($id) % 40) / 10_000, $call);
    } catch (Howdah\TimeoutException) {
        Cut::$names[$name] = true;
    }
};

return static fn (object $shared): array => [
    'persistent' => static function (string $id): void {
        [$host, $port] = explode(':', $_SERVER['HTTP_HOST']);
        $flags = STREAM_CLIENT_CONNECT | STREAM_CLIENT_PERSISTENT;
        $stream = crc32($id) % 2
            ? pfsockopen($host, (int) $port)
            : stream_socket_client("tcp://$host:$port", $code, $message, 5, $flags);
        fwrite($stream, "GET /?op=echo&id=$id&client={$_GET['client']} HTTP/1.1\r\nHost: $host:$port\r\n\r\n");
        $length = 0;
        while (($line = rtrim((string) fgets($stream))) !== '') {
            $length = sscanf(strtolower($line), 'content-length: %d')[0] ?? $length;
        }
        $got = fread($stream, $length ?: (int) hexdec(rtrim((string) fgets($stream))));
        need($got === $id, 'the answer of another one: ' . var_export($got, true));
    },
    'pgsql' => static function (string $id) use ($shared, $pdo, $transaction): void {
        if (isset(Cut::$names['pgsql'])) {
            return;
        }
        $pdo = $pdo($shared, 'SOAK_PGSQL');
        $statement = $pdo->prepare('SELECT pg_sleep(0.002), ?::text');
        $statement->execute([$id]);
        need($statement->fetchColumn(1) === $id, 'another row of PostgreSQL');
        $transaction($pdo, $id);
    },
    'mysql' => static function (string $id) use ($shared, $pdo, $transaction): void {
        if (isset(Cut::$names['mysql'])) {
            return;
        }
        $pdo = $pdo($shared, 'SOAK_MYSQL');
        $statement = $pdo->prepare('SELECT SLEEP(0.002), ?');
        $statement->execute([$id]);
        need($statement->fetchColumn(1) === $id, 'another row of MySQL');
        $transaction($pdo, $id);
    },
    'mysqli' => static function (string $id) use ($shared, $mysqli): void {
        $db = $shared->get('mysqli', $mysqli);
        try {
            $row = $db->query("SELECT SLEEP(0.001), '$id'")->fetch_row();
        } catch (mysqli_sql_exception $exception) {
            // The report counts these. A client that disconnects has its connection closed, and no other.
            need_gone($exception);
            header('X-Gone: mysqli');
            $shared->drop('mysqli', $db);
            $row = $mysqli()->query("SELECT 0, '$id'")->fetch_row();
        }
        need($row[1] === $id, 'another row of mysqli');
    },
    'redis' => static function (string $id) use ($shared, $redis): void {
        if (isset(Cut::$names['redis'])) {
            return;
        }
        $redis = $redis($shared);
        $redis->set("soak:$id", $id, 10);
        need($redis->get("soak:$id") === $id, 'another value of Redis');
        $got = $redis->multi()->get("soak:$id")->del("soak:$id")->exec();
        need($got === [$id, 1], 'the transaction of another one in Redis');
    },
    'memcached' => static function (string $id) use ($shared, $memcached): void {
        $memcached = $memcached($shared);
        // Without getResultMessage(): with a time slice, another request may have used the object by then.
        need($memcached->set("soak:$id", $id, 10), 'memcached refused');
        need($memcached->get("soak:$id") === $id, 'another value of memcached');
    },
    'https' => static function (): void {
        $context = stream_context_create(['ssl' => ['verify_peer' => false, 'verify_peer_name' => false]]);
        $page = file_get_contents(getenv('SOAK_HTTPS'), false, $context);
        need(str_contains((string) $page, 'Cipher'), 'no answer over TLS');
    },
    'pgsql-cut' => static fn (string $id) => $cut($id, 'pgsql', static function () use ($id, $shared, $pdo): void {
        $pdo = $pdo($shared, 'SOAK_PGSQL');
        $pdo->beginTransaction();
        $pdo->prepare('INSERT INTO soak VALUES (?)')->execute([$id]);
        $pdo->query('SELECT generate_series(1, 200), pg_sleep(0.0001)')->fetchAll();
        $pdo->rollBack();
    }),
    'mysql-cut' => static fn (string $id) => $cut($id, 'mysql', static function () use ($id, $shared, $pdo): void {
        $pdo = $pdo($shared, 'SOAK_MYSQL');
        $pdo->beginTransaction();
        $pdo->prepare('INSERT INTO soak VALUES (?)')->execute([$id]);
        $pdo->query('SELECT SLEEP(0.002), REPEAT("x", 100000)')->fetchAll();
        $pdo->rollBack();
    }),
    'redis-cut' => static function (string $id) use ($cut, $shared, $redis): void {
        $redis = $redis($shared);
        $cut($id, 'redis', static fn () => match (crc32("$id cut") % 4) {
            0 => $redis->multi()->set("soak:cut:$id", "cut", 10)->get("soak:$id")->exec(),
            1 => $redis->pipeline()->get("soak:$id")->set("soak:cut:$id", "cut", 10)->exec(),
            2 => $redis->blPop(['soak:none'], 1),
            3 => $redis->mGet(["soak:$id", "soak:$id", 'soak:none']),
        });
        if (isset(Cut::$names['redis'])) {
            return;
        }
        $redis->set("soak:$id", $id, 10);
        need($redis->get("soak:$id") === $id, 'another value of Redis');
        $redis->del("soak:$id");
    },
    'memcached-cut' => static fn (string $id) => $cut($id, 'memcached', static function () use ($id, $shared, $memcached): void {
        $memcached = $memcached($shared);
        // A separate key, because the server may store it after the call was aborted.
        $memcached->set("soak:cut:$id", str_repeat('x', 100_000), 10);
        $memcached->getMulti(["soak:cut:$id", 'soak:none']);
    }),
    // After an abort the connection is closed, also for requests that wait for it. The next one opens a new connection.
    'mysqli-cut' => static function (string $id) use ($cut, $shared, $mysqli): void {
        $db = $shared->get('mysqli cut', $mysqli);
        try {
            $row = $db->query("SELECT '$id', SLEEP(0.0005)")->fetch_row();
            need($row[0] === $id, 'another row of mysqli');
            $cut($id, 'mysqli', static function () use ($db): void {
                try {
                    $row = $db->query('SELECT SLEEP(0.002), REPEAT("x", 100000)')->fetch_row();
                    need($row === ['0', str_repeat('x', 100_000)], 'another row of mysqli where it was not cut');
                } catch (mysqli_sql_exception $exception) {
                    need_gone($exception);
                }
            });
        } catch (mysqli_sql_exception $exception) {
            need_gone($exception);
            $shared->drop('mysqli cut', $db);
        }
    },
];
