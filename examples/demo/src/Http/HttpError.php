<?php

declare(strict_types=1);

namespace Caravan\Http;

use RuntimeException;

/**
 * A request that fails. The message is shown to the visitor.
 */
final class HttpError extends RuntimeException
{
    /**
     * @param array<string, string> $headers
     */
    public function __construct(
        public readonly int $status,
        public readonly string $title,
        string $message,
        public readonly array $headers = [],
    ) {
        parent::__construct($message);
    }

    public static function notFound(): self
    {
        return new self(404, 'No such place', 'The caravan never came by here. Check the address, or start again '
            . 'from the journal.');
    }
}
