<?php

declare(strict_types=1);

namespace Howdah\Octane\Commands;

use Howdah\Octane\Server;
use Illuminate\Console\Command;

/**
 * For commands with `--server`, which may be howdah.
 *
 * @phpstan-require-extends Command
 */
trait NamesServer
{
    private function server(): Server
    {
        $server = app(Server::class);
        assert($server instanceof Server);
        return $server;
    }

    private function isHowdah(): bool
    {
        return ($this->option('server') ?: config('octane.server')) === 'howdah';
    }
}
