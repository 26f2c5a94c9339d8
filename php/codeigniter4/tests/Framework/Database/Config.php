<?php

declare(strict_types=1);

namespace CodeIgniter\Database;

/**
 * Stand-in: the connections.
 */
class Config
{
    /** @var array<string, mixed> */
    public static array $connections = [];

    /**
     * @return array<string, mixed>
     */
    public static function getConnections(): array
    {
        return self::$connections;
    }
}
