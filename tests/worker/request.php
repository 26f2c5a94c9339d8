<?php

// $_REQUEST in a file that only some requests include: PHP fills it when that file is compiled.

declare(strict_types=1);

require_once __DIR__ . '/_executor.php';

return static function (): void {
    if (!isset($_GET['skip'])) {
        include __DIR__ . '/request.inc';
    }
    echo 'done ', $_GET['i'] ?? '';
};
