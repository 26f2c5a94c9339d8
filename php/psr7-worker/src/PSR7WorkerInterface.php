<?php

declare(strict_types=1);

namespace Howdah\Psr7Worker;

use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;

/**
 * RoadRunner's interface of this name.
 */
interface PSR7WorkerInterface
{
    public function getWorker(): WorkerInterface;

    /**
     * @return ServerRequestInterface|null null: the script is to end
     */
    public function waitRequest(): ?ServerRequestInterface;

    public function respond(ResponseInterface $response): void;
}
