<?php

// Stack and memory of a request.

declare(strict_types=1);

final class Link
{
    public ?Link $next = null;
}

return static fn (): array => [
    'deep' => static function (): void {
        $first = null;
        for ($i = 0; $i < 2000; $i++) {
            $link = new Link();
            $link->next = $first;
            $first = $link;
        }
        $depth = 0;
        for ($link = unserialize(serialize($first)); $link; $link = $link->next) {
            $depth++;
        }
        need($depth === 2000, "serialize() went $depth deep");
    },
    'limit' => static function (string $id): void {
        $limit = (64 + crc32($id) % 64) . 'M';
        ini_set('memory_limit', $limit);
        $held = str_repeat('x', 3 << 20);
        usleep(500);
        need(ini_get('memory_limit') === $limit && strlen($held) === 3 << 20, 'the memory_limit of another one');
    },
];
