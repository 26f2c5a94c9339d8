<?php

declare(strict_types=1);

namespace Howdah\Octane\Commands;

use Laravel\Octane\Commands\StatusCommand as Octane;
use Symfony\Component\Console\Attribute\AsCommand;

#[AsCommand(name: 'octane:status')]
final class StatusCommand extends Octane
{
    use NamesServer;

    public function handle(): int
    {
        if (!$this->isHowdah()) {
            return (int) parent::handle();
        }
        $isRunning = $this->server()->serverIsRunning();
        $this->info($isRunning ? 'Octane server is running.' : 'Octane server is not running.');
        return $isRunning ? self::SUCCESS : self::FAILURE;
    }
}
