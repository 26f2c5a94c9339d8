<?php

// Errors that end every script.

declare(strict_types=1);

require_once __DIR__ . '/_executor.php';

register_shutdown_function(static function (): void {
    // In worker mode this function belongs to the boot. It must still run for the request that failed.
    echo error_get_last() === null ? '' : '[boot shutdown]';
});

return static function (): void {
    register_shutdown_function(static function (): void {
        echo '[request shutdown]';
    });
    echo 'pid=', getmypid(), ';';
    switch ($_GET['kind'] ?? 'none') {
        case 'none':
            break;
        case 'user':
            trigger_error('on purpose', E_USER_ERROR);
            // This line is never reached.
        case 'memory':
            ini_set('memory_limit', '16M');
            $text = str_repeat('x', 64 << 20);
            break;
        case 'time':
            set_time_limit(1);
            while (true) {
                continue;
            }
        case 'compile':
            require __DIR__ . '/broken/inheritance.inc';
            break;
        case 'crash':
            posix_kill(getmypid(), SIGSEGV);
    }
    echo 'fine';
};
