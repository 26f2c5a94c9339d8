<?php

// A file that is opened at the boot and read on from request to request.

declare(strict_types=1);

require_once __DIR__ . '/_executor.php';

$words = fopen(__DIR__ . '/words.txt', 'rb');

return static function () use ($words): void {
    // Another stream on the same request must not disturb it.
    file_get_contents('php://input');
    echo trim((string) fgets($words));
};
