<?php

declare(strict_types=1);

namespace Howdah\Psr15;

use Psr\Http\Message\ResponseInterface;

/**
 * Sends a PSR-7 response: status, header fields, body.
 */
final class Emitter
{
    /** Size in bytes of one read from a body. */
    private const CHUNK = 65536;

    public function emit(ResponseInterface $response): void
    {
        foreach ($response->getHeaders() as $name => $values) {
            foreach (array_values($values) as $index => $value) {
                header("$name: $value", $index === 0 && strcasecmp((string) $name, 'Set-Cookie') !== 0);
            }
        }
        $line = 'HTTP/' . $response->getProtocolVersion() . ' ' . $response->getStatusCode();
        header(rtrim($line . ' ' . $response->getReasonPhrase()), true, $response->getStatusCode());

        $body = $response->getBody();
        if ($body->isSeekable()) {
            $body->rewind();
        }
        while (!$body->eof()) {
            echo $body->read(self::CHUNK);
        }
    }
}
