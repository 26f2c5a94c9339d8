<?php

// For coroutines that share globals: each request borrows a connection of its process, with its statements.
use Swoole\ConnectionPool;

return static function (int $connections): Closure {
    $pool = new ConnectionPool(static fn (): stdClass => new stdClass(), $connections);

    return static function () use ($pool): void {
        $shared = $pool->get();
        try {
            require __DIR__.'/www/index.php';
        } finally {
            $pool->put($shared);
        }
    };
};
