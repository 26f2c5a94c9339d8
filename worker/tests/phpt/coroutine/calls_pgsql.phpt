--TEST--
Coroutines: queries of PostgreSQL let other requests run
--SKIPIF--
<?php
if (!extension_loaded('pdo_pgsql') || !extension_loaded('pgsql')) {
    echo 'skip pdo_pgsql or pgsql is not loaded';
} elseif (!getenv('HOWDAH_TEST_PGSQL')) {
    echo 'skip HOWDAH_TEST_PGSQL is not set, e.g. to "host=127.0.0.1 port=5432 user=test dbname=test"';
}
--FILE--
<?php
$server = getenv('HOWDAH_TEST_PGSQL');
// One holds a lock of the server's while the other waits for it; each has its own connection.
$turns = static function (callable $query, string $what, string $way, stdClass $gate): mixed {
    $query('SELECT 1');
    if ($what === 'take') {
        return [$query('SELECT pg_advisory_lock(4242)'), isset($gate->{"$way given"})];
    }
    $query('SELECT pg_advisory_lock(4242)');
    $gate->$way = true;
    usleep(20_000);
    $gate->{"$way given"} = true;
    return $query('SELECT pg_advisory_unlock(4242)');
};
$ways = [
    'pdo' => static function (...$rest) use ($server, $turns) {
        $pdo = new PDO('pgsql:' . $server);
        return $turns(static fn ($sql) => $pdo->query($sql)->fetchColumn(), ...$rest);
    },
    'prepared' => static function (...$rest) use ($server, $turns) {
        $pdo = new PDO('pgsql:' . $server);
        return $turns(static function ($sql) use ($pdo) {
            $statement = $pdo->prepare($sql);
            $statement->execute();
            return $statement->fetchColumn();
        }, ...$rest);
    },
    'pgsql' => static function (...$rest) use ($server, $turns) {
        $connection = pg_connect($server, PGSQL_CONNECT_FORCE_NEW);
        return $turns(static fn ($sql) => pg_fetch_result(pg_query($connection, $sql), 0, 0), ...$rest);
    },
    'async' => static function (...$rest) use ($server, $turns) {
        $connection = pg_connect($server, PGSQL_CONNECT_FORCE_NEW);
        return $turns(static function ($sql) use ($connection) {
            pg_send_query($connection, $sql);
            return pg_fetch_result(pg_get_result($connection), 0, 0);
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
var QUERY_STRING me=a&how=prepared
push prepared
var QUERY_STRING me=b&how=prepared
push other
await prepared
await other
var QUERY_STRING me=a&how=pgsql
push pgsql
var QUERY_STRING me=b&how=pgsql
push other
await pgsql
await other
var QUERY_STRING me=a&how=async
push async
var QUERY_STRING me=b&how=async
push other
await async
await other
stop
--EXPECT--
pdo: ["",true]
other: null
prepared: ["",true]
other: null
pgsql: ["",true]
other: null
async: ["",true]
other: null
