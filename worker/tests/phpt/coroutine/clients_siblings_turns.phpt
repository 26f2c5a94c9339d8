--TEST--
Coroutines: a child that waits for a call which leaves something open runs when the caller has ended, and immediately if it is the caller's child
--SKIPIF--
<?php
if (!extension_loaded('pgsql')) {
    echo 'skip pgsql is not loaded';
} elseif (!getenv('HOWDAH_TEST_PGSQL')) {
    echo 'skip HOWDAH_TEST_PGSQL is not set, e.g. to "host=127.0.0.1 port=5432 user=test dbname=test"';
}
--INI--
howdah.pool_wait=30
--FILE--
<?php
use function Howdah\{all, await, spawn};

while (frankenphp_handle_request(static function () {
    $db = pg_connect(getenv('HOWDAH_TEST_PGSQL'));
    $begin = static fn () => pg_query($db, 'BEGIN; SELECT pg_sleep(0.05)');
    $get = static fn (int $n) => (int) pg_fetch_result(pg_query($db, "SELECT $n"), 0, 0);
    $open = static fn (): bool => pg_transaction_status($db) === PGSQL_TRANSACTION_INTRANS;

    // The one that began it ends without an end of its transaction: it is everybody's.
    $holder = spawn(static function () use ($begin): void {
        $begin();
    });
    echo json_encode(all([static fn () => $get(1), static fn () => $get(2), static fn () => $get(3)]));
    await($holder);
    echo $open() ? " in it\n" : " not in it\n";
    pg_query($db, 'ROLLBACK');

    // Its child waited for the call that began it.
    $parent = spawn(static function () use ($db, $begin, $get, $open): string {
        $child = spawn(static fn () => $get(4));
        $begin();
        $result = await($child) . ($open() ? ' in it' : ' not in it');
        pg_query($db, 'ROLLBACK');
        return $result;
    });
    echo await($parent), "\n";

    // Others wait for its end.
    $order = [];
    all([
        static function () use ($db, $begin, &$order): void {
            $begin();
            usleep(20_000);
            $order[] = 'end';
            pg_query($db, 'COMMIT');
        },
        static function () use ($get, &$order): void {
            $order[] = $get(5);
        },
        static function () use ($get, &$order): void {
            $order[] = $get(6);
        },
    ]);
    echo json_encode($order), "\n";
})) {
}
--HOWDAH--
option concurrency 2
worker {ROOT}/test.php
run
--EXPECT--
[1,2,3] in it
4 in it
["end",5,6]
