<?php

// Is killed by a signal before it requests work.

declare(strict_types=1);

require_once __DIR__ . '/_executor.php';

error_log("the last line of the boot");
posix_kill(getmypid(), (int) (getenv('SIGNAL') ?: 11));

return static function (): void {
    echo 'never';
};
