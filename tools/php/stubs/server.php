<?php

/**
 * Functions of the servers that PHP lacks, for static analysis. Never loaded at run time.
 */

declare(strict_types=1);

/**
 * Waits for the next request of a worker and calls the handler for it; false when the worker shall end.
 *
 * @param callable(): void $handler
 */
function frankenphp_handle_request(callable $handler): bool
{
    return $handler() === null;
}

/**
 * The number of this request, as in the access log.
 */
function howdah_request_id(): string
{
    return '';
}

/**
 * @return array<string, mixed>|false
 */
function fpm_get_status(): array|false
{
    return false;
}
