--TEST--
Coroutines: a child that waits too long for another's transaction is refused
--SKIPIF--
<?php
if (!extension_loaded('pdo_pgsql')) {
    echo 'skip pdo_pgsql is not loaded';
} elseif (!getenv('HOWDAH_TEST_PGSQL')) {
    echo 'skip HOWDAH_TEST_PGSQL is not set, e.g. to "host=127.0.0.1 port=5432 user=test dbname=test"';
}
--INI--
howdah.pool_wait=0.2
--FILE--
<?php
use function Howdah\{await, spawn};

$pdo = new PDO('pgsql:' . getenv('HOWDAH_TEST_PGSQL'));
while (frankenphp_handle_request(static function () use ($pdo) {
    $begun = $refused = false;
    $other = spawn(static function () use ($pdo, &$begun, &$refused): bool {
        $pdo->beginTransaction();
        $begun = true;
        while (!$refused) {
            usleep(1000);
        }
        return $pdo->commit();
    });
    while (!$begun) {
        usleep(1000);
    }
    try {
        $pdo->query('SELECT 1');
    } catch (Howdah\SharedClientException $exception) {
        echo $exception->getMessage(), "\n";
    }
    $refused = true;
    var_dump(await($other));
    echo $pdo->query('SELECT 1')->fetchColumn(), "\n";
})) {
}
--HOWDAH--
option concurrency 2
worker {ROOT}/test.php
run
--EXPECT--
PDO is used by another coroutine of this request, which left a transaction, a pipeline or a result open on it; this one has waited 0.2 s for it. End it before others use PDO, or reconnect in the coroutine
bool(true)
1
