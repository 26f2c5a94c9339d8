<?php

// A response of the requested number of kilobytes.

declare(strict_types=1);

require_once __DIR__ . '/_executor.php';

return static function (): void {
    for ($i = 0, $end = (int) $_GET['kb']; $i < $end; $i++) {
        echo str_repeat(chr(97 + $i % 26), 1024);
    }
};
