<?php

declare(strict_types=1);

namespace Howdah\Octane\Commands;

use Laravel\Octane\Commands\StopCommand as Octane;
use Laravel\Octane\FrankenPhp\ServerStateFile;
use Symfony\Component\Console\Attribute\AsCommand;

#[AsCommand(name: 'octane:stop')]
final class StopCommand extends Octane
{
    use NamesServer;

    public function handle(): int
    {
        if (!$this->isHowdah()) {
            return (int) parent::handle();
        }
        $server = $this->server();
        $state = app(ServerStateFile::class);
        assert($state instanceof ServerStateFile);
        if (!$server->serverIsRunning()) {
            $state->delete();
            $this->error('Howdah server is not running.');
            return self::FAILURE;
        }
        $this->info('Stopping server...');
        if (!$server->stopServer()) {
            $this->error('Failed to stop Howdah server.');
            return self::FAILURE;
        }
        $state->delete();
        return self::SUCCESS;
    }
}
