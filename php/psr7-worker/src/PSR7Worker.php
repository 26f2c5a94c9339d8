<?php

declare(strict_types=1);

namespace Howdah\Psr7Worker;

use Generator;
use Howdah\Psr15\Requests;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestFactoryInterface;
use Psr\Http\Message\ServerRequestInterface;
use Psr\Http\Message\StreamFactoryInterface;
use Psr\Http\Message\StreamInterface;
use Psr\Http\Message\UploadedFileFactoryInterface;

/**
 * Requests and responses as PSR-7 objects, with the methods of RoadRunner's class of the same name.
 */
class PSR7Worker implements PSR7WorkerInterface
{
    /** Size in bytes of one read and write of a body. 0: the whole body at once. */
    public int $chunkSize = 0;

    private readonly HttpWorker $http;

    private readonly Requests $requests;

    public function __construct(
        private readonly Worker $worker,
        ServerRequestFactoryInterface $requestFactory,
        StreamFactoryInterface $streamFactory,
        UploadedFileFactoryInterface $uploadsFactory,
    ) {
        $this->http = new HttpWorker($worker);
        $this->requests = new Requests($requestFactory, $streamFactory, $uploadsFactory);
    }

    public function getWorker(): Worker
    {
        return $this->worker;
    }

    public function getHttpWorker(): HttpWorker
    {
        return $this->http;
    }

    public function waitRequest(): ?ServerRequestInterface
    {
        return $this->worker->wait() ? $this->requests->current() : null;
    }

    public function respond(ResponseInterface $response): void
    {
        $body = $response->getBody();
        $this->http->respond(
            $response->getStatusCode(),
            $this->chunkSize > 0 ? $this->parts($body) : (string) $body,
            $response->getHeaders(),
        );
    }

    /**
     * @return Generator<int, string, mixed, null>
     */
    private function parts(StreamInterface $body): Generator
    {
        if ($body->isSeekable()) {
            $body->rewind();
        }
        while (!$body->eof()) {
            yield $body->read(max(1, $this->chunkSize));
        }
        return null;
    }
}
