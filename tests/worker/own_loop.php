<?php

// Ends its loop after three requests, as with Octane's MAX_REQUESTS.

declare(strict_types=1);

$count = 0;
do {
    $goesOn = frankenphp_handle_request(static function () use (&$count): void {
        echo getmypid(), ':', ++$count;
    });
} while ($goesOn && $count < 3);
