<?php

declare(strict_types=1);

namespace Howdah\CodeIgniter4\Tests;

/**
 * What was logged.
 */
final class Log
{
    /** @var list<string> */
    public static array $lines = [];
}
