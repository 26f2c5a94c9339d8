<?php

declare(strict_types=1);

namespace Caravan\Http;

use Caravan\Typed;

/**
 * One entry of $_FILES. The client's file name is not kept: nothing here may use it.
 */
final class Upload
{
    private function __construct(
        public readonly int $error,
        public readonly int $bytes,
        public readonly string $temporaryFile,
    ) {
    }

    /**
     * @param array<mixed> $file
     */
    public static function fromArray(array $file): ?self
    {
        $error = $file['error'] ?? null;
        $bytes = $file['size'] ?? null;
        if (!is_int($error) || !is_int($bytes) || $error === UPLOAD_ERR_NO_FILE) {
            return null;
        }
        return new self($error, $bytes, Typed::text($file, 'tmp_name'));
    }
}
