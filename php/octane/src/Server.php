<?php

declare(strict_types=1);

namespace Howdah\Octane;

use Laravel\Octane\Contracts\ServerProcessInspector;
use Laravel\Octane\FrankenPhp\ServerStateFile;
use RuntimeException;
use Symfony\Component\Process\ExecutableFinder;
use Symfony\Component\Process\Process;

/**
 * The server of this application. `howdah` controls it at the address in Octane's state file.
 */
final class Server implements ServerProcessInspector
{
    public function __construct(private readonly string $basePath, private readonly ServerStateFile $state)
    {
    }

    public function serverIsRunning(): bool
    {
        return $this->control('status')?->isSuccessful() === true;
    }

    /**
     * @throws RuntimeException if the new code does not boot; the previous code stays active
     */
    public function reloadServer(): void
    {
        $process = $this->control('reload');
        if ($process?->isSuccessful() !== true) {
            throw new RuntimeException(trim($process?->getErrorOutput() ?? 'Octane server is not running.'));
        }
    }

    /**
     * Returns when requests in flight have ended and the server has exited.
     */
    public function stopServer(): bool
    {
        return $this->control('stop')?->isSuccessful() === true;
    }

    /**
     * @throws RuntimeException if the server is not installed
     */
    public function binary(): string
    {
        return (new ExecutableFinder())->find('howdah', null, [$this->basePath])
            ?? throw new RuntimeException('There is no program `howdah` in PATH or in ' . $this->basePath . '.');
    }

    /**
     * Runs a command of `howdah`. Returns null if no server has been started.
     */
    private function control(string $command): ?Process
    {
        $state = $this->state->read()['state'] ?? null;
        $address = is_array($state) ? $state['howdahAdmin'] ?? null : null;
        if (!is_string($address)) {
            return null;
        }
        $process = new Process([$this->binary(), $command, '--address', $address], $this->basePath, timeout: null);
        $process->run();
        return $process;
    }
}
