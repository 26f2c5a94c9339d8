<?php

declare(strict_types=1);

namespace Howdah\Octane\Commands;

use Laravel\Octane\Commands\ReloadCommand as Octane;
use RuntimeException;
use Symfony\Component\Console\Attribute\AsCommand;

#[AsCommand(name: 'octane:reload')]
final class ReloadCommand extends Octane
{
    use NamesServer;

    public function handle(): int
    {
        if (!$this->isHowdah()) {
            return (int) parent::handle();
        }
        $server = $this->server();
        if (!$server->serverIsRunning()) {
            $this->error('Octane server is not running.');
            return self::FAILURE;
        }
        $this->info('Reloading workers...');
        try {
            $server->reloadServer();
        } catch (RuntimeException $error) {
            $this->error($error->getMessage());
            return self::FAILURE;
        }
        return self::SUCCESS;
    }
}
