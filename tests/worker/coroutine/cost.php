<?php

// For `python3 -m bench soak --cost` and tests/e2e/tests/coroutine/cost.rs: requests that do nothing, and requests that
// wait in a transaction of one PDO object of the boot (COST_PGSQL names the database).

$dsn = getenv('COST_PGSQL');
$pdo = $dsn ? new PDO("$dsn;application_name=howdah-cost") : null;
$waiting = "FROM pg_stat_activity WHERE application_name = 'howdah-cost' AND wait_event = 'PgSleep'";
$count = 0;

$handler = static function () use ($pdo, $waiting, &$count): void {
    $count++;
    $op = $_SERVER['QUERY_STRING'] ?? '';
    if ($op === 'count') {
        echo getmypid(), ' ', $count;
    } elseif ($op === 'waiting') {
        echo getmypid(), ' ', $pdo->query("SELECT COUNT(*) $waiting")->fetchColumn();
    } elseif ($op === 'let-go') {
        $pdo->query("SELECT pg_cancel_backend(pid) $waiting")->fetchAll();
    } elseif ($op === 'wait') {
        $pdo->beginTransaction();
        try {
            $pdo->query('SELECT pg_sleep(600)');
        } catch (PDOException) {
            $pdo->rollBack();
            echo 'let go';
        }
    }
};

while (frankenphp_handle_request($handler)) {
}
