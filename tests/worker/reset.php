<?php

// Resets OPcache on request.

declare(strict_types=1);

require_once __DIR__ . '/_executor.php';

return static function (): void {
    if (isset($_GET['reset']) && function_exists('opcache_reset')) {
        opcache_reset();
    }
    echo 'ok ', $_GET['i'];
};
