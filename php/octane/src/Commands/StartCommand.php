<?php

declare(strict_types=1);

namespace Howdah\Octane\Commands;

use Laravel\Octane\Commands\StartCommand as Octane;
use Symfony\Component\Console\Attribute\AsCommand;

#[AsCommand(name: 'octane:start')]
final class StartCommand extends Octane
{
    use NamesServer;

    public function handle(): int
    {
        if (!$this->isHowdah()) {
            return (int) parent::handle();
        }
        $options = ['workers', 'max-requests', 'caddyfile', 'https', 'watch', 'log-level'];
        $arguments = ['--host' => $this->getHost(), '--port' => $this->getPort()];
        foreach ($options as $option) {
            $arguments["--$option"] = $this->option($option);
        }
        return $this->call('octane:howdah', $arguments);
    }
}
