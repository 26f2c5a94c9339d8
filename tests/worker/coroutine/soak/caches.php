<?php

// APCu: one request generates an entry, the others wait for it.

declare(strict_types=1);

$generating = new ArrayObject();

return static fn (): array => [
    'apcu' => static function (string $id) use ($generating): void {
        if (!function_exists('apcu_enabled') || !apcu_enabled()) {
            return;
        }
        $key = 'soak' . crc32($id) % 500;
        $most = 0;
        $made = apcu_entry($key, static function (string $key) use ($generating, &$most): string {
            $generating[$key] = $most = ($generating[$key] ?? 0) + 1;
            try {
                usleep(500);
                return "made for $key";
            } finally {
                unset($generating[$key]);
            }
        }, 1);
        need($made === "made for $key", 'the entry of another one');
        need($most <= 1, "$most generators of one entry");
    },
];
