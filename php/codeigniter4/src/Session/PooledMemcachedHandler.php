<?php

declare(strict_types=1);

namespace Howdah\CodeIgniter4\Session;

use CodeIgniter\Session\Handlers\MemcachedHandler;
use Memcached;

/**
 * Sessions in memcached. The requests of a worker use the same connections one after another.
 */
final class PooledMemcachedHandler extends MemcachedHandler
{
    /** @var array<string, Memcached> one connection per save path */
    private static array $pool = [];

    /**
     * @param string $path The path where to store/retrieve the session
     * @param string $name The session name
     */
    public function open($path, $name): bool
    {
        $key = serialize($this->savePath);
        $kept = self::$pool[$key] ?? null;
        if ($kept !== null && (bool) $kept->getVersion()) {
            $this->memcached = $kept;
            return true;
        }
        unset(self::$pool[$key]);
        if (!parent::open($path, $name) || !$this->memcached instanceof Memcached) {
            return false;
        }
        self::$pool[$key] = $this->memcached;
        return true;
    }

    /**
     * Releases the lock and keeps the connections open.
     */
    public function close(): bool
    {
        if (!$this->memcached instanceof Memcached) {
            return false;
        }
        if (isset($this->lockKey)) {
            $this->memcached->delete($this->lockKey);
        }
        $this->memcached = null;
        return true;
    }
}
