<?php

declare(strict_types=1);

namespace Caravan\Model;

use Caravan\Typed;

/**
 * A page of the travel journal.
 */
final class Entry
{
    private function __construct(
        public readonly int $id,
        public readonly string $title,
        public readonly string $place,
        public readonly string $body,
        public readonly string $author,
        public readonly int $createdAt,
        public readonly int $comments,
        public readonly ?string $photo,
    ) {
    }

    /**
     * @param array<mixed> $row
     */
    public static function fromRow(array $row): self
    {
        return new self(
            Typed::int($row, 'id'),
            Typed::string($row, 'title'),
            Typed::string($row, 'place'),
            Typed::string($row, 'body'),
            Typed::string($row, 'author'),
            Typed::int($row, 'created_at'),
            Typed::int($row, 'comments'),
            Typed::text($row, 'photo') ?: null,
        );
    }

    /**
     * The picture at its top: the first photo, or a painted landscape if there is none.
     */
    public function cover(): string
    {
        return $this->photo === null ? "/covers/$this->id.svg" : "/photos/$this->photo";
    }

    /**
     * Its first words, cut at a word.
     */
    public function teaser(int $length = 150): string
    {
        $text = preg_replace('/\s+/u', ' ', $this->body) ?? '';
        if (mb_strlen($text) <= $length) {
            return $text;
        }
        $cut = mb_substr($text, 0, $length);
        return rtrim(mb_substr($cut, 0, mb_strrpos($cut, ' ') ?: $length), ',;:.') . '…';
    }

    /**
     * @return array<string, int|string|null>
     */
    public function toArray(): array
    {
        return [
            'id' => $this->id,
            'title' => $this->title,
            'place' => $this->place,
            'author' => $this->author,
            'created_at' => gmdate('Y-m-d\TH:i:s\Z', $this->createdAt),
            'comments' => $this->comments,
            'cover' => $this->cover(),
            'url' => "/journal/$this->id",
            'body' => $this->body,
        ];
    }
}
