<?php

declare(strict_types=1);

namespace CodeIgniter\Cache\Handlers;

/**
 * Stand-in: a cache with a client that may have lost its connection.
 */
class RedisHandler
{
    public int $connected = 0;

    public function __construct(protected object $redis)
    {
    }

    public function initialize(): void
    {
        $this->connected++;
    }
}
