<?php

declare(strict_types=1);

namespace Howdah\Psr7Worker;

/**
 * What a RoadRunner script for HTTP uses of its worker.
 */
interface WorkerInterface
{
    /**
     * Logs the error. The client gets a response with status 500, unless it has one already.
     */
    public function error(string $error): void;

    /**
     * Ends the loop with the next call of waitRequest(): the server starts a new worker.
     */
    public function stop(): void;
}
