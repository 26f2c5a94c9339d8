<?php

declare(strict_types=1);

namespace Howdah\Psr7Worker;

/**
 * The part of the worker interface that RoadRunner scripts for HTTP use.
 */
interface WorkerInterface
{
    /**
     * Logs the error. The client gets a response with status 500, unless a response has started.
     */
    public function error(string $error): void;

    /**
     * Ends the loop at the next call of waitRequest(). The server starts a new worker.
     */
    public function stop(): void;
}
