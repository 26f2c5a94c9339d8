--TEST--
Coroutines: an open transaction is rolled back although another request drops the object meanwhile
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

/** How to connect, and to begin something. */
$drivers = [
    'pdo mysql' => [
        static fn () => new PDO("mysql:host={$mysql['host']};port={$mysql['port']};dbname={$mysql['dbname']}", $mysql['user'], $mysql['password']),
        static fn (PDO $db) => $db->beginTransaction(),
    ],
    'pdo pgsql' => [
        static fn () => new PDO('pgsql:' . str_replace(' ', ';', $pgsql)),
        static fn (PDO $db) => $db->beginTransaction(),
    ],
    'mysqli' => [
        static fn () => new mysqli($mysql['host'], $mysql['user'], $mysql['password'], $mysql['dbname'], (int) $mysql['port']),
        static fn (mysqli $db) => $db->begin_transaction(),
    ],
    'pgsql' => [
        static fn () => pg_connect($pgsql, PGSQL_CONNECT_FORCE_NEW),
        static fn ($db) => pg_query($db, 'BEGIN'),
    ],
    'redis' => [
        static function (): Redis {
            $redis = new Redis();
            $redis->connect(...explode(':', getenv('HOWDAH_TEST_REDIS')));
            return $redis;
        },
        static fn (Redis $redis) => $redis->multi(),
    ],
];

$place = new class () {
    public ?object $db = null;
    public bool $begun = false;
    public bool $over = false;
    public bool $done = false;
};

/** Others run meanwhile. */
$await = static function (callable $until): void {
    while (!$until()) {
        usleep(0);
    }
};

/** Begins something on an object that the request "hold" has then. */
$begin = static function (string $name) use ($drivers, $place, $await): void {
    [$connect, $begin] = $drivers[$name];
    $place->db = $db = $connect();
    $await(static fn (): bool => $place->db === null);
    $begin($db);
};

$requests = [
    'hold' => static function () use ($place, $await): void {
        while (!$place->done) {
            $await(static fn (): bool => $place->db !== null || $place->done);
            $db = $place->db;
            $place->db = null;
            $await(static fn (): bool => $place->over || $place->done);
            unset($db); // the last reference, while the other one waits for the server
            $place->over = false;
        }
    },
    'cancel' => static function () use ($drivers, $place, $await, $begin): void {
        foreach (array_keys($drivers) as $name) {
            $place->begun = false;
            Howdah\race([
                static function () use ($name, $place, $begin): void {
                    $begin($name);
                    try {
                        $place->begun = true;
                        usleep(60_000_000);
                    } finally {
                        $place->over = true;
                    }
                },
                static fn () => $await(static fn (): bool => $place->begun),
            ]);
            $await(static fn (): bool => !$place->over);
        }
    },
    'end' => static function () use ($place, $begin): void {
        $begin($_GET['db']);
        $place->over = true;
    },
    'last' => static function () use ($place): void {
        $place->done = true;
    },
];

while (frankenphp_handle_request(static function () use ($requests): void {
    $requests[$_GET['how']]();
    echo 'done';
})) {
}
--HOWDAH--
option concurrency 3
worker {ROOT}/test.php
var QUERY_STRING how=hold
push hold
var QUERY_STRING how=cancel
push cancel
await cancel
var QUERY_STRING how=end&db=pdo+mysql
push pdo-mysql
await pdo-mysql
var QUERY_STRING how=end&db=pdo+pgsql
push pdo-pgsql
await pdo-pgsql
var QUERY_STRING how=end&db=mysqli
push mysqli
await mysqli
var QUERY_STRING how=end&db=pgsql
push pgsql
await pgsql
var QUERY_STRING how=end&db=redis
push redis
await redis
var QUERY_STRING how=last
push last
await last
await hold
--EXPECT--
cancel: done
pdo-mysql: done
pdo-pgsql: done
mysqli: done
pgsql: done
redis: done
last: done
hold: done
