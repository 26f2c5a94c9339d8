<?php

declare(strict_types=1);

use Illuminate\Foundation\Application;
use Illuminate\Foundation\Bootstrap\RegisterProviders;
use Illuminate\Http\Request;
use Illuminate\Http\Response;
use Laravel\Octane\Facades\Octane;
use Laravel\Octane\OctaneServiceProvider;

// Octane looks for the application here first. It is the one of classic mode, with what Laravel would find in a vendor
// folder of Composer's.
$app = require dirname(__DIR__).'/bootstrap/app.php';
$app->afterBootstrapping(RegisterProviders::class, static function (Application $app): void {
    $app->register(OctaneServiceProvider::class);
});
// Named as in bench/harness/cases.py. Octane's Swoole server runs no file but the application.
$app->booted(static function (): void {
    Octane::route('GET', '/howdah-bench-probe.php', static function (Request $request): Response {
        $_GET = $request->query->all();
        ob_start();
        require public_path('howdah-bench-probe.php');

        return new Response((string) ob_get_clean(), 200, ['Content-Type' => 'application/json']);
    });
});

return $app;
