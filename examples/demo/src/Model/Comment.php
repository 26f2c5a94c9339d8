<?php

declare(strict_types=1);

namespace Caravan\Model;

use Caravan\Typed;

/**
 * A reader's comment on an entry.
 */
final class Comment
{
    private function __construct(
        public readonly string $author,
        public readonly string $body,
        public readonly int $createdAt,
    ) {
    }

    /**
     * @param array<mixed> $row
     */
    public static function fromRow(array $row): self
    {
        return new self(
            Typed::string($row, 'author'),
            Typed::string($row, 'body'),
            Typed::int($row, 'created_at'),
        );
    }
}
