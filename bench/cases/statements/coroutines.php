<?php

// For coroutines that share globals: each request borrows a connection of its process.
use Swoole\ConnectionPool;
use Swoole\Database\PDOProxy;

return static function (int $connections): Closure {
    $service = require __DIR__.'/services.php';
    // Swoole\Database\PDOPool, but for the address, which is whole here.
    $pool = new ConnectionPool(
        static fn (): PDO => new PDO(...$service['pdo'], options: [PDO::ATTR_EMULATE_PREPARES => true]),
        $connections,
        PDOProxy::class,
    );

    return static function () use ($pool): void {
        $shared = new stdClass();
        $shared->database = $pool->get();
        try {
            require __DIR__.'/www/index.php';
        } finally {
            $pool->put($shared->database);
        }
    };
};
