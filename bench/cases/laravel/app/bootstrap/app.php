<?php

declare(strict_types=1);

// Debian's Laravel; there is no Composer vendor folder.
require_once 'Illuminate/autoload.php';
require_once 'Illuminate/Foundation/helpers.php';
require_once dirname(__DIR__).'/app/classes.php';

$app = new Illuminate\Foundation\Application(dirname(__DIR__));
$app->singleton(Illuminate\Contracts\Http\Kernel::class, App\Kernel::class);
$app->singleton(Illuminate\Contracts\Debug\ExceptionHandler::class, Illuminate\Foundation\Exceptions\Handler::class);

return $app;
