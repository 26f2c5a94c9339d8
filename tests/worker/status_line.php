<?php

// A status line that the script sets.

declare(strict_types=1);

require_once __DIR__ . '/_executor.php';

return static function (): void {
    header($_GET['line']);
    echo 'body';
};
