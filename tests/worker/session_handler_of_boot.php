<?php

// A save handler that the boot sets is used for all requests, even if one of them sets another handler.

declare(strict_types=1);

require_once __DIR__ . '/SessionMemory.inc';
require_once __DIR__ . '/_executor.php';

session_set_save_handler(new SessionMemory(), true);

return static function (): void {
    if (isset($_GET['other'])) {
        session_set_save_handler(new SessionHandler(), true);
    }
    session_start();
    $_SESSION['n'] = ($_SESSION['n'] ?? 0) + 1;
    echo session_module_name(), ' ', $_SESSION['n'];
};
