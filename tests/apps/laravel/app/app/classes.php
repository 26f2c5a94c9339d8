<?php

declare(strict_types=1);

namespace App;

use Illuminate\Cookie\Middleware\AddQueuedCookiesToResponse;
use Illuminate\Cookie\Middleware\EncryptCookies;
use Illuminate\Foundation\Http\Kernel as HttpKernel;
use Illuminate\Foundation\Http\Middleware\VerifyCsrfToken;
use Illuminate\Foundation\Support\Providers\RouteServiceProvider;
use Illuminate\Routing\Middleware\SubstituteBindings;
use Illuminate\Session\Middleware\StartSession;
use Illuminate\Support\Facades\Route;

final class Kernel extends HttpKernel
{
    protected $middlewareGroups = [
        'web' => [
            EncryptCookies::class,
            AddQueuedCookiesToResponse::class,
            StartSession::class,
            Csrf::class,
            SubstituteBindings::class,
        ],
    ];
}

final class Csrf extends VerifyCsrfToken
{
    protected $except = ['json'];
}

final class Routes extends RouteServiceProvider
{
    public function boot(): void
    {
        $this->routes(static fn () => Route::middleware('web')->group(base_path('app/routes.php')));
    }
}
