<?php

// Leaves its loop after three requests, as Octane's MAX_REQUESTS does.

declare(strict_types=1);

$count = 0;
do {
    $goesOn = frankenphp_handle_request(static function () use (&$count): void {
        echo getmypid(), ':', ++$count;
    });
} while ($goesOn && $count < 3);
