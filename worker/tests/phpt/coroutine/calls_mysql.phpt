--TEST--
Coroutines: queries of MySQL let other requests run
--SKIPIF--
<?php
if (!extension_loaded('pdo_mysql') || !extension_loaded('mysqli')) {
    echo 'skip pdo_mysql or mysqli is not loaded';
} elseif (!getenv('HOWDAH_TEST_MYSQL')) {
    echo 'skip HOWDAH_TEST_MYSQL is not set, e.g. to "host=127.0.0.1 port=3306 user=test password=test dbname=test"';
}
--FILE--
<?php
preg_match_all('/(\w+)=(\S+)/', getenv('HOWDAH_TEST_MYSQL'), $found);
$server = array_combine($found[1], $found[2]);
$dsn = "mysql:host={$server['host']};port={$server['port']};dbname={$server['dbname']}";
// One holds a lock of the server's while the other waits for it; each has its own connection.
$turns = static function (callable $query, string $what, string $way, stdClass $gate): mixed {
    $query('SELECT 1');
    if ($what === 'take') {
        return [$query('SELECT GET_LOCK("howdah calls", 1000)'), isset($gate->{"$way given"})];
    }
    $query('SELECT GET_LOCK("howdah calls", 1000)');
    $gate->$way = true;
    usleep(20_000);
    $gate->{"$way given"} = true;
    return $query('SELECT RELEASE_LOCK("howdah calls")');
};
$mysqli = static fn () => new mysqli(
    $server['host'], $server['user'], $server['password'], $server['dbname'], (int) $server['port']);
$ways = [
    'pdo' => static function (...$rest) use ($dsn, $server, $turns) {
        $pdo = new PDO($dsn, $server['user'], $server['password']);
        return $turns(static fn ($sql) => (int) $pdo->query($sql)->fetchColumn(), ...$rest);
    },
    'mysqli' => static function (...$rest) use ($mysqli, $turns) {
        $connection = $mysqli();
        return $turns(static fn ($sql) => (int) $connection->query($sql)->fetch_row()[0], ...$rest);
    },
    'poll' => static function (...$rest) use ($mysqli, $turns) {
        $connection = $mysqli();
        return $turns(static function ($sql) use ($connection) {
            $connection->query($sql, MYSQLI_ASYNC);
            do {
                [$read, $error, $reject] = [[$connection], [], []];
            } while (mysqli_poll($read, $error, $reject, 1000) === 0);
            return (int) $connection->reap_async_query()->fetch_row()[0];
        }, ...$rest);
    },
];
$gate = new stdClass();
$cases = [];
foreach ($ways as $way => $run) {
    $cases[$way] = [
        'a' => static function () use ($run, $gate, $way) {
            while (!isset($gate->$way)) {
                usleep(1000);
            }
            // Not before the other has given it back.
            return $run('take', $way, $gate);
        },
        'b' => static function () use ($run, $gate, $way) {
            $run('hold', $way, $gate);
        },
    ];
}
while (frankenphp_handle_request(static function () use ($cases) {
    // In each case the first cannot end before the second has done its part.
    $result = $cases[$_GET['how']][$_GET['me']]();
    echo json_encode($result);
})) {}
--HOWDAH--
option concurrency 2
worker {ROOT}/test.php
var QUERY_STRING me=a&how=pdo
push pdo
var QUERY_STRING me=b&how=pdo
push other
await pdo
await other
var QUERY_STRING me=a&how=mysqli
push mysqli
var QUERY_STRING me=b&how=mysqli
push other
await mysqli
await other
var QUERY_STRING me=a&how=poll
push poll
var QUERY_STRING me=b&how=poll
push other
await poll
await other
stop
--EXPECT--
pdo: [1,true]
other: null
mysqli: [1,true]
other: null
poll: [1,true]
other: null
