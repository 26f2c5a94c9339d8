--TEST--
Coroutines: children of one request share its connection; a transaction is that one's which began it, and of those that it starts
--SKIPIF--
<?php
if (!extension_loaded('pdo_pgsql')) {
    echo 'skip pdo_pgsql is not loaded';
} elseif (!getenv('HOWDAH_TEST_PGSQL')) {
    echo 'skip HOWDAH_TEST_PGSQL is not set, e.g. to "host=127.0.0.1 port=5432 user=test dbname=test"';
}
--INI--
howdah.pool_wait=30
--FILE--
<?php
use function Howdah\{all, await, spawn};

$pdo = new PDO('pgsql:' . getenv('HOWDAH_TEST_PGSQL'));
while (frankenphp_handle_request(static function () use ($pdo) {
    $pdo->exec('CREATE TEMPORARY TABLE howdah_s (n int)');
    $count = static fn (): int => $pdo->query('SELECT count(*) FROM howdah_s')->fetchColumn();
    $add = static fn (int $n): int => $pdo->exec("INSERT INTO howdah_s VALUES ($n)");
    // Calls at the same time follow each other; each has its own row.
    $rows = all(array_map(static fn (int $n) => static function () use ($pdo, $n): int {
        $statement = $pdo->prepare('SELECT ?::int, pg_sleep(0.002)');
        $statement->execute([$n]);
        return $statement->fetchColumn();
    }, range(1, 20)));
    echo $rows === range(1, 20) ? "rows\n" : "other rows\n";

    // Two transactions at the same time follow each other.
    $transaction = static function (int $n, bool $commit) use ($pdo, $add, $count): array {
        $pdo->beginTransaction();
        $before = $count();
        $add($n);
        usleep(5000);
        $seen = $count() - $before;
        $commit ? $pdo->commit() : $pdo->rollBack();
        return [$n, $seen];
    };
    echo json_encode(all([
        static fn () => $transaction(1, true),
        static fn () => $transaction(2, false),
        static fn () => $transaction(3, true),
    ])), ' ', $count(), "\n";

    // Those that it starts are in the transaction with it, theirs too.
    $pdo->beginTransaction();
    all([static fn () => $add(4), static fn () => await(spawn(static fn () => $add(5)))]);
    $pdo->rollBack();
    echo $count(), "\n";

    // One that has ended with its transaction leaves it to the others.
    await(spawn(static fn () => $pdo->beginTransaction()));
    $add(6);
    $pdo->rollBack();
    echo $count(), "\n";
})) {
}
--HOWDAH--
option concurrency 2
worker {ROOT}/test.php
run
--EXPECT--
rows
[[1,1],[2,1],[3,1]] 2
2
2
