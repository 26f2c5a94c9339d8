<?php

// A file that the boot opens and that each request continues to read.

declare(strict_types=1);

require_once __DIR__ . '/_executor.php';

$words = fopen(__DIR__ . '/words.txt', 'rb');

return static function () use ($words): void {
    // A second stream in the same request must not affect it.
    file_get_contents('php://input');
    echo trim((string) fgets($words));
};
