<?php

declare(strict_types=1);

namespace Howdah\Psr15\Tests;

/**
 * A server that has some requests, and records what it gets.
 */
final class Server
{
    /** @var array<array-key, string> header fields of the request */
    public static array $fields = [];

    /** @var list<array{string, bool, int}> calls of header() */
    public static array $sent = [];

    /** @var list<string> targets of requests that have not been handled */
    public static array $requests = [];

    public static function reset(): void
    {
        self::$fields = [];
        self::$sent = [];
        self::$requests = [];
    }

    public static function next(callable $callback): bool
    {
        $_SERVER['REQUEST_URI'] = array_shift(self::$requests);
        $callback();
        return self::$requests !== [];
    }
}
