<?php

declare(strict_types=1);

namespace Howdah\CodeIgniter4\Session;

use CodeIgniter\Session\Handlers\RedisHandler;
use Redis;
use RedisException;

/**
 * Sessions in Redis. The requests of a worker use the same connection one after another.
 */
final class PooledRedisHandler extends RedisHandler
{
    /** @var array<string, Redis> one connection per save path */
    private static array $pool = [];

    /**
     * @param string $path The path where to store/retrieve the session
     * @param string $name The session name
     */
    public function open($path, $name): bool
    {
        $key = serialize($this->savePath);
        $kept = self::$pool[$key] ?? null;
        if ($kept !== null && self::isAlive($kept)) {
            $this->redis = $kept;
            return true;
        }
        unset(self::$pool[$key]);
        if (!parent::open($path, $name) || !$this->redis instanceof Redis) {
            return false;
        }
        self::$pool[$key] = $this->redis;
        return true;
    }

    /**
     * Releases the lock and keeps the connection open.
     */
    public function close(): bool
    {
        try {
            if ($this->redis instanceof Redis && isset($this->lockKey)) {
                return $this->releaseLock();
            }
            return true;
        } catch (RedisException $error) {
            $this->logger?->error('Session: Got RedisException on close(): ' . $error->getMessage());
            return true;
        } finally {
            $this->redis = null;
        }
    }

    private static function isAlive(Redis $redis): bool
    {
        try {
            return (bool) $redis->ping();
        } catch (RedisException) {
            return false;
        }
    }
}
