<?php

declare(strict_types=1);

require_once __DIR__ . '/_executor.php';

return static function (): void {
    error_log('logged ' . $_GET['i']);
    error_log('to the server ' . $_GET['i'], 4);
    frankenphp_log('with a level ' . $_GET['i'], FRANKENPHP_LOG_LEVEL_WARN, ['number' => (int) $_GET['i']]);
    echo 'ok';
};
