--TEST--
Coroutines: state that a cancelled coroutine leaves open between two calls is rolled back, state of others stays
--SKIPIF--
<?php
foreach (['PGSQL' => 'pgsql', 'MYSQL' => 'mysqli', 'REDIS' => 'redis'] as $variable => $extension) {
    if (!extension_loaded($extension) || !getenv("HOWDAH_TEST_$variable")) {
        echo "skip $extension is not loaded, or HOWDAH_TEST_$variable is not set";
        return;
    }
}
--FILE--
<?php
preg_match_all('/(\w+)=(\S+)/', getenv('HOWDAH_TEST_MYSQL'), $found);
$mysql = array_combine($found[1], $found[2]);
$pgsql = getenv('HOWDAH_TEST_PGSQL');

final class Driver
{
    public function __construct(
        public Closure $connect,
        public Closure $begin,
        public Closure $write,
        public Closure $end,
        public Closure $isOpen,
        public Closure $count,
        public ?object $handle = null,
    ) {
    }
}

$pdo = static fn (Closure $connect): Driver => new Driver(
    $connect,
    static fn (PDO $db) => $db->beginTransaction(),
    static fn (PDO $db) => $db->exec("INSERT INTO cancelled VALUES ('x')"),
    static fn (PDO $db) => $db->commit(),
    static fn (PDO $db) => $db->inTransaction(),
    static fn (PDO $db) => (int) $db->query('SELECT COUNT(*) FROM cancelled')->fetchColumn(),
);
$table = 'CREATE TEMPORARY TABLE cancelled (t varchar(20))';
$drivers = [
    'pdo mysql' => $pdo(static function () use ($mysql, $table): PDO {
        $db = new PDO("mysql:host={$mysql['host']};port={$mysql['port']};dbname={$mysql['dbname']}", $mysql['user'], $mysql['password']);
        $db->exec("$table ENGINE=InnoDB");
        return $db;
    }),
    'pdo pgsql' => $pdo(static function () use ($pgsql, $table): PDO {
        $db = new PDO('pgsql:' . str_replace(' ', ';', $pgsql));
        $db->exec($table);
        return $db;
    }),
    'pdo sqlite' => $pdo(static function () use ($table): PDO {
        $db = new PDO('sqlite::memory:');
        $db->exec($table);
        return $db;
    }),
    'mysqli' => new Driver(
        static function () use ($mysql, $table): mysqli {
            $db = new mysqli($mysql['host'], $mysql['user'], $mysql['password'], $mysql['dbname'], (int) $mysql['port']);
            $db->query("$table ENGINE=InnoDB");
            return $db;
        },
        static fn (mysqli $db) => $db->begin_transaction(),
        static fn (mysqli $db) => $db->query("INSERT INTO cancelled VALUES ('x')"),
        static fn (mysqli $db) => $db->commit(),
        static fn (mysqli $db) => (bool) $db->query('SELECT @@in_transaction')->fetch_column(),
        static fn (mysqli $db) => (int) $db->query('SELECT COUNT(*) FROM cancelled')->fetch_column(),
    ),
    'pgsql' => new Driver(
        static function () use ($pgsql, $table): PgSql\Connection {
            $db = pg_connect($pgsql, PGSQL_CONNECT_FORCE_NEW);
            pg_query($db, $table);
            return $db;
        },
        static fn ($db) => pg_query($db, 'BEGIN'),
        static fn ($db) => pg_query($db, "INSERT INTO cancelled VALUES ('x')"),
        static fn ($db) => pg_query($db, 'COMMIT'),
        static fn ($db) => pg_transaction_status($db) !== PGSQL_TRANSACTION_IDLE,
        static fn ($db) => (int) pg_fetch_result(pg_query($db, 'SELECT COUNT(*) FROM cancelled'), 0, 0),
    ),
    'redis multi' => $redis = new Driver(
        static function (): Redis {
            $redis = new Redis();
            $redis->connect(...explode(':', getenv('HOWDAH_TEST_REDIS')));
            $redis->del('howdah-cancelled');
            return $redis;
        },
        static fn (Redis $redis) => $redis->multi(),
        static fn (Redis $redis) => $redis->incr('howdah-cancelled'),
        static fn (Redis $redis) => $redis->exec(),
        static fn (Redis $redis) => $redis->getMode() !== Redis::ATOMIC,
        static fn (Redis $redis) => (int) $redis->get('howdah-cancelled'),
    ),
    'redis pipeline' => $pipeline = clone $redis,
];
$pipeline->begin = static fn (Redis $redis) => $redis->pipeline();

/** Cancels the code where it waits. */
$cancel = static function (Closure $code): void {
    $waits = false;
    Howdah\race([
        static function () use ($code, &$waits): void {
            $code(static function () use (&$waits): void {
                $waits = true;
                usleep(60_000_000);
            });
        },
        static function () use (&$waits): void {
            while (!$waits) {
                usleep(500);
            }
        },
    ]);
};

while (frankenphp_handle_request(static function () use ($drivers, $cancel) {
    foreach ($drivers as $name => $driver) {
        $db = $driver->handle ??= ($driver->connect)();
        $is = static function (string $what, bool $open, int $count) use ($name, $driver, $db): void {
            $found = [($driver->isOpen)($db), $open ? $count : ($driver->count)($db)];
            if ($found !== [$open, $count]) {
                echo "$name, $what: ", json_encode($found), "\n";
            }
        };
        $start = ($driver->count)($db);
        for ($i = 0; $i < 3; $i++) {
            // Between two calls; a `catch` does not see it.
            $cancel(static function (Closure $wait) use ($driver, $db): void {
                try {
                    ($driver->begin)($db);
                    ($driver->write)($db);
                    $wait();
                } catch (Throwable) {
                    echo 'caught';
                }
            });
            $is('cancelled', false, $start);
        }
        ($driver->begin)($db);
        ($driver->write)($db);
        $is('begun by the request', true, $start);
        $cancel(static function (Closure $wait) use ($driver, $db): void {
            ($driver->write)($db);
            $wait();
        });
        $is('cancelled within', true, $start);
        ($driver->end)($db);
        $is('ended by the request', false, $start + 2);
        $cancel(static function (Closure $wait) use ($driver, $db): void {
            ($driver->begin)($db);
            try {
                $wait();
            } finally {
                ($driver->write)($db);
                ($driver->end)($db);
            }
        });
        $is('ended by finally', false, $start + 3);
    }
    echo 'done';
})) {
}
--HOWDAH--
option concurrency 3
worker {ROOT}/test.php
run
run
stop
--EXPECT--
done
done
