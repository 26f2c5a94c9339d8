<?php

// A save handler that one request sets must not be used for the next.

declare(strict_types=1);

require_once __DIR__ . '/SessionMemory.inc';
require_once __DIR__ . '/_executor.php';

return static function (): void {
    if (isset($_GET['set'])) {
        session_set_save_handler(new SessionMemory(), true);
        session_start();
        $_SESSION['x'] = 1;
    }
    echo session_module_name();
};
