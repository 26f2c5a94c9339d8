<?php

declare(strict_types=1);

namespace Howdah\Psr7Worker\Tests;

/**
 * A server that has some requests, and records what it gets.
 */
final class Server
{
    /** @var list<list<mixed>> calls of PHP's functions, in order */
    public static array $calls = [];

    /** @var list<string> */
    public static array $logged = [];

    /** @var list<string> targets of requests that have not been handled */
    public static array $requests = [];

    /** Whether the response has started. */
    public static bool $begun = false;

    /** Output buffers of the test's runner. */
    public static int $level = 0;

    public static function reset(): void
    {
        self::$calls = [];
        self::$logged = [];
        self::$requests = [];
        self::$begun = false;
        self::$level = ob_get_level();
    }

    public static function next(callable $callback): bool
    {
        self::$begun = false;
        $_SERVER['REQUEST_URI'] = array_shift(self::$requests);
        $callback();
        return self::$requests !== [];
    }
}
