<?php

declare(strict_types=1);

require_once __DIR__ . '/_executor.php';

return static function (): void {
    // It reads argv, which does not belong to a request.
    echo json_encode(getopt('abc')), ' ', $_GET['i'] ?? '';
};
