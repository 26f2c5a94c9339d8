<?php

declare(strict_types=1);

namespace App;

use Illuminate\Foundation\Http\Kernel as HttpKernel;
use Illuminate\Foundation\Support\Providers\RouteServiceProvider;
use Illuminate\Routing\Middleware\SubstituteBindings;
use Illuminate\Support\Facades\Route;

final class Kernel extends HttpKernel
{
    protected $middlewareGroups = ['web' => [SubstituteBindings::class]];
}

final class CatalogueController
{
    public function department(string $department)
    {
        $items = array_map(
            static fn (int $number): array => ['name' => "No. $number, $department", 'price' => 1.5 * $number + 0.49],
            range(1, 20),
        );

        return view('department', ['department' => $department, 'items' => $items]);
    }
}

final class Routes extends RouteServiceProvider
{
    public function boot(): void
    {
        $this->routes(static function (): void {
            Route::middleware('web')->get('/catalogue/{department}', [CatalogueController::class, 'department']);
        });
    }
}
