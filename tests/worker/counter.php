<?php

// State that lives as long as the process.

declare(strict_types=1);

require_once __DIR__ . '/_executor.php';

$count = 0;

return static function () use (&$count): void {
    $count++;
    echo "requests:$count";
};
