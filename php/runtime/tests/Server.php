<?php

declare(strict_types=1);

namespace Howdah\Runtime\Tests;

/**
 * A server that has some requests.
 */
final class Server
{
    /** @var list<array<string, string>> $_SERVER of requests that have not been handled */
    public static array $requests = [];

    public static function next(callable $callback): bool
    {
        $_SERVER = array_shift(self::$requests) ?? [];
        $callback();
        return self::$requests !== [];
    }
}
