<?php

// Requests work while it handles a request.

declare(strict_types=1);

while (
    frankenphp_handle_request(static function (): void {
        try {
            frankenphp_handle_request(static function (): void {
                echo 'nested';
            });
            echo 'was allowed';
        } catch (RuntimeException $exception) {
            echo get_class($exception);
        }
    })
) {
    continue;
}
