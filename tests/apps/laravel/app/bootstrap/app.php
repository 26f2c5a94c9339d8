<?php

declare(strict_types=1);

if (is_file(__DIR__ . '/../vendor/autoload.php')) {
    // With Octane, see setup.sh.
    require_once __DIR__ . '/../vendor/autoload.php';
} else {
    require_once 'Illuminate/autoload.php';
    require_once 'Illuminate/Foundation/helpers.php';
}
require_once __DIR__ . '/../Notes.php';
require_once __DIR__ . '/../app/classes.php';

$app = new Illuminate\Foundation\Application(dirname(__DIR__));
$app->singleton(Illuminate\Contracts\Http\Kernel::class, App\Kernel::class);
$app->singleton(Illuminate\Contracts\Console\Kernel::class, Illuminate\Foundation\Console\Kernel::class);
$app->singleton(Illuminate\Contracts\Debug\ExceptionHandler::class, Illuminate\Foundation\Exceptions\Handler::class);
return $app;
