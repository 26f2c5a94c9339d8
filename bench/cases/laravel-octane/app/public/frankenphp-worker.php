<?php

// What `artisan octane:install` writes. `octane:start` says these two; the bare loop does not.
$_SERVER['APP_BASE_PATH'] ??= dirname(__DIR__);
$_SERVER['MAX_REQUESTS'] ??= PHP_INT_MAX;
require __DIR__.'/../vendor/laravel/octane/bin/frankenphp-worker.php';
