<?php

// Not a worker script.

declare(strict_types=1);

try {
    frankenphp_handle_request(static function (): void {
    });
} catch (RuntimeException $exception) {
    echo $exception->getMessage();
}
