<?php

declare(strict_types=1);

// Included by public/howdah-worker.php, which is the worker script.

use Howdah\Octane\Loop;

if (!($_SERVER['FRANKENPHP_WORKER'] ?? false) || !function_exists('frankenphp_handle_request')) {
    http_response_code(500);
    exit('This script is for worker mode: php artisan octane:howdah');
}
$base = $_SERVER['APP_BASE_PATH'] ?? null;
if (!is_string($base)) {
    throw new LogicException('APP_BASE_PATH is not set: start the server with `php artisan octane:howdah`.');
}
// Loads Composer's autoloader.
$base = require "$base/vendor/laravel/octane/bin/bootstrap.php";
Loop::run($base);
