<?php

declare(strict_types=1);

namespace Howdah\Psr7Worker;

use Generator;
use InvalidArgumentException;
use Stringable;

/**
 * Sends responses that are not PSR-7 objects.
 */
final class HttpWorker
{
    public function __construct(private readonly Worker $worker)
    {
    }

    public function getWorker(): WorkerInterface
    {
        return $this->worker;
    }

    /**
     * @param string|Generator<mixed, scalar|Stringable, mixed, Stringable|scalar|null> $body each part is sent at once
     * @param array<array-key, string|array<array-key, string>>                       $headers
     * @param bool $endOfStream false if the next call sends more of the body
     *
     * @throws InvalidArgumentException if an interim response has a body
     */
    public function respond(
        int $status,
        string|Generator $body = '',
        array $headers = [],
        bool $endOfStream = true,
    ): void {
        if (self::isInterim($status) && $body !== '') {
            throw new InvalidArgumentException('A response with an informational status code has no body.');
        }
        if (!headers_sent()) {
            $this->worker->begin();
            foreach ($headers as $name => $values) {
                foreach (array_values((array) $values) as $index => $value) {
                    header("$name: $value", $index === 0 && strcasecmp((string) $name, 'Set-Cookie') !== 0);
                }
            }
            if (self::isInterim($status)) {
                self::sendInterim($status);
                return;
            }
            http_response_code($status);
        }
        if ($body instanceof Generator) {
            foreach ($body as $part) {
                echo (string) $part;
                flush();
            }
            echo (string) $body->getReturn();
        } else {
            echo $body;
        }
        $endOfStream ? $this->worker->finish() : flush();
    }

    /**
     * @phpstan-assert-if-true int<100, 199> $status
     */
    private static function isInterim(int $status): bool
    {
        return $status >= 100 && $status < 200;
    }

    /**
     * @param int<100, 199> $status
     */
    private static function sendInterim(int $status): void
    {
        if (function_exists('headers_send')) {
            headers_send($status);
        }
        header_remove();
    }
}
