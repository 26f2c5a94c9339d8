<?php

declare(strict_types=1);

require_once __DIR__ . '/_executor.php';

return static function (): void {
    if (isset($_GET['unstarted'])) {
        echo json_encode([session_status() === PHP_SESSION_NONE, session_id(), isset($_SESSION), session_name()]);
        return;
    }
    if (isset($_GET['id'])) {
        session_id($_GET['id']);
    }
    session_start();
    $_SESSION['n'] = ($_SESSION['n'] ?? 0) + 1;
    echo $_SESSION['n'];
    if (isset($_GET['exit'])) {
        exit((int) $_GET['exit']);
    }
    if (isset($_GET['throw'])) {
        throw new RuntimeException('with an open session');
    }
    if (isset($_GET['destroy'])) {
        session_destroy();
    }
};
