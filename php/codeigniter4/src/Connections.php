<?php

declare(strict_types=1);

namespace Howdah\CodeIgniter4;

use CodeIgniter\Cache\Handlers\PredisHandler;
use CodeIgniter\Cache\Handlers\RedisHandler;
use CodeIgniter\Config\BaseService;
use CodeIgniter\Database\BaseConnection;
use CodeIgniter\Database\Config as Database;
use Throwable;

/**
 * Connections to databases and to the cache: reused by later requests, and checked before each
 * request.
 */
final class Connections
{
    private readonly Property $services;

    private readonly Property $depth;

    /** @var array<string, mixed> settings that a request may change, and their values in a new connection */
    private const OF_A_REQUEST = [
        'transStatus' => true, 'transFailure' => false, 'transException' => false, 'transEnabled' => true,
        'lastQuery' => null, 'aliasedTables' => [],
    ];

    public function __construct()
    {
        $this->services = new Property(BaseService::class, 'instances');
        $this->depth = new Property(BaseConnection::class, 'transDepth');
    }

    /**
     * Before a request: closes connections that the server has closed. They are opened again at
     * their next use.
     */
    public function begin(): void
    {
        foreach ($this->databases() as $connection) {
            if (!self::isAlive($connection)) {
                self::close($connection);
            }
        }
        $this->checkCache();
    }

    /**
     * After the response: an open transaction would include the queries of the next request.
     */
    public function end(): void
    {
        foreach ($this->databases() as $group => $connection) {
            if ($this->depthOf($connection) > 0) {
                log_message('error', "Uncommitted transaction in database group '{$group}': it was rolled back.");
                if (!$this->rollBack($connection)) {
                    self::close($connection);
                }
                $this->depth->set(0, $connection);
            }
            foreach (self::OF_A_REQUEST as $name => $value) {
                (new Property(BaseConnection::class, $name))->set($value, $connection);
            }
        }
    }

    /**
     * @param BaseConnection<mixed, mixed> $connection
     */
    private function depthOf(BaseConnection $connection): int
    {
        $depth = $this->depth->get($connection);
        return is_int($depth) ? $depth : 0;
    }

    /**
     * @param BaseConnection<mixed, mixed> $connection
     */
    private function rollBack(BaseConnection $connection): bool
    {
        try {
            while ($this->depthOf($connection) > 0) {
                if (!$connection->transRollback()) {
                    return false;
                }
            }
            return true;
        } catch (Throwable) {
            // The server has closed the connection, which ended the transaction.
            return false;
        }
    }

    /**
     * CodeIgniter opens the connection again at its next use.
     *
     * @param BaseConnection<mixed, mixed> $connection
     */
    private static function close(BaseConnection $connection): void
    {
        try {
            $connection->close();
        } catch (Throwable) {
            // The server has closed the connection in the meantime.
            $connection->connID = false;
        }
    }

    /**
     * @return array<array-key, BaseConnection<mixed, mixed>> open connections
     */
    private function databases(): array
    {
        $open = [];
        foreach (Database::getConnections() as $group => $connection) {
            if ($connection instanceof BaseConnection && (bool) $connection->connID) {
                $open[$group] = $connection;
            }
        }
        return $open;
    }

    /**
     * Queries the server without CodeIgniter, which would log the query and any error.
     *
     * @param BaseConnection<mixed, mixed> $connection
     */
    private static function isAlive(BaseConnection $connection): bool
    {
        $handle = $connection->connID;
        try {
            return match (true) {
                $handle instanceof \mysqli => @$handle->query('DO 1') === true,
                $handle instanceof \PgSql\Connection => @pg_query($handle, 'SELECT 1') !== false,
                $handle instanceof \SQLite3 => true,
                default => $connection->simpleQuery(
                    $connection->getPlatform() === 'OCI8' ? 'SELECT 1 FROM DUAL' : 'SELECT 1',
                ) !== false,
            };
        } catch (Throwable) {
            return false;
        }
    }

    private function checkCache(): void
    {
        $services = $this->services->get();
        $cache = is_array($services) ? $services['cache'] ?? null : null;
        if (!$cache instanceof RedisHandler && !$cache instanceof PredisHandler) {
            return;
        }
        $client = (new Property($cache::class, 'redis'))->get($cache);
        try {
            if (is_object($client) && method_exists($client, 'ping')) {
                $client->ping();
            }
        } catch (Throwable) {
            try {
                $cache->initialize();
            } catch (Throwable $error) {
                log_message('error', 'The cache cannot be reached: ' . $error->getMessage());
            }
        }
    }
}
