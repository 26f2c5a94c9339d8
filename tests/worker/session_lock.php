<?php

// A save handler that locks a file and exceeds the time limit in write(). The lock must not outlive the request.

declare(strict_types=1);

require_once __DIR__ . '/LockedFile.inc';
require_once __DIR__ . '/_executor.php';

return static function (): void {
    session_set_save_handler(new LockedFile(), true);
    session_start();
    echo 'got the lock';
};
