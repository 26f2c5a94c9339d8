<?php

declare(strict_types=1);

namespace Laravel\Octane\Contracts;

/**
 * Stand-in.
 */
interface ServerProcessInspector
{
    public function serverIsRunning(): bool;

    public function reloadServer(): void;

    public function stopServer(): bool;
}
