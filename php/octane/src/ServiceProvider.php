<?php

declare(strict_types=1);

namespace Howdah\Octane;

use Illuminate\Contracts\Foundation\Application;
use Illuminate\Support\ServiceProvider as Provider;
use Laravel\Octane\Commands as Octane;
use Laravel\Octane\FrankenPhp\ServerStateFile;

/**
 * Adds `octane:howdah`, and adds the server `howdah` to Octane's commands. Their list of servers is
 * fixed, so the commands are replaced in the container, from which Artisan gets them.
 */
final class ServiceProvider extends Provider
{
    public function register(): void
    {
        $this->app->bind(
            Server::class,
            static function (Application $app): Server {
                $state = $app->make(ServerStateFile::class);
                assert($state instanceof ServerStateFile);
                return new Server($app->basePath(), $state);
            },
        );
        $this->app->bind(Octane\StartCommand::class, Commands\StartCommand::class);
        $this->app->bind(Octane\StopCommand::class, Commands\StopCommand::class);
        $this->app->bind(Octane\ReloadCommand::class, Commands\ReloadCommand::class);
        $this->app->bind(Octane\StatusCommand::class, Commands\StatusCommand::class);
    }

    public function boot(): void
    {
        if ($this->app->runningInConsole()) {
            $this->commands([Commands\StartHowdahCommand::class]);
        }
    }
}
