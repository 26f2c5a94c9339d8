<?php

declare(strict_types=1);

namespace Caravan;

use UnexpectedValueException;

/**
 * Reads typed values out of arrays of unchecked shape: superglobals and database rows.
 */
final class Typed
{
    /**
     * The text at a key, or the default when it is missing or is not text (an array from `name[]=`).
     *
     * @param array<mixed> $from
     */
    public static function text(array $from, string $key, string $default = ''): string
    {
        $value = $from[$key] ?? null;
        return is_string($value) ? $value : $default;
    }

    /**
     * A column that the schema declares as TEXT NOT NULL.
     *
     * @param array<mixed> $row
     */
    public static function string(array $row, string $column): string
    {
        $value = $row[$column] ?? null;
        return is_string($value) ? $value : throw new UnexpectedValueException("Column $column is not text.");
    }

    /**
     * A column that the schema declares as INTEGER NOT NULL.
     *
     * @param array<mixed> $row
     */
    public static function int(array $row, string $column): int
    {
        $value = $row[$column] ?? null;
        return is_int($value) ? $value : throw new UnexpectedValueException("Column $column is not an integer.");
    }
}
