<?php

// Responds with the process id and the number of its requests.

declare(strict_types=1);

require_once __DIR__ . '/_executor.php';

$count = 0;

return static function () use (&$count): void {
    echo getmypid(), ':', ++$count;
};
