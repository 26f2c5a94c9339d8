<?php

declare(strict_types=1);

// Written by `php artisan octane:howdah`.

$_SERVER['APP_BASE_PATH'] ??= dirname(__DIR__);

require $_SERVER['APP_BASE_PATH'] . '/vendor/howdah/octane/bin/worker.php';
