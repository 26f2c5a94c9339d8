<?php

declare(strict_types=1);

namespace Howdah\Psr7Worker;

use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;

/**
 * RoadRunner's interface of the same name.
 */
interface PSR7WorkerInterface
{
    public function getWorker(): WorkerInterface;

    /**
     * @return ServerRequestInterface|null null if the script must exit
     */
    public function waitRequest(): ?ServerRequestInterface;

    public function respond(ResponseInterface $response): void;
}
