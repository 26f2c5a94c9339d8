<?php

declare(strict_types=1);

// Swoole's HTTP server.   swoole.php PORT WORKERS DOCROOT MODE, which is `base`, `process` or `thread`
require __DIR__.'/adapter.php';
$mode = match ($argv[4]) {
    'base' => SWOOLE_BASE,
    'process' => SWOOLE_PROCESS,
    // Each thread runs this script from its beginning. Only builds with threads know the constant.
    'thread' => SWOOLE_THREAD,
};
$server = new Swoole\Http\Server('127.0.0.1', (int) $argv[1], $mode);
$server->set([
    'worker_num' => (int) $argv[2],
    'log_level' => SWOOLE_LOG_WARNING,
    'http_compression' => true,
    // One request at a time, as everywhere else: superglobals belong to it.
    'enable_coroutine' => false,
    'package_max_length' => 64 << 20,
    // For BASE mode: one socket for all processes would leave most connections to the first that wakes up.
    'enable_reuse_port' => true,
    // For PROCESS mode: to a worker that is free, as its documentation wants it for servers that block.
    'dispatch_mode' => 3,
]);
$adapter = null;
$server->on('workerStart', static function () use (&$adapter, $argv): void {
    $adapter = new Adapter($argv[3]);
});
$server->on('request', static function ($request, $response) use (&$adapter): void {
    $_GET = $request->get ?? [];
    $_COOKIE = $request->cookie ?? [];
    $_POST = $request->post ?? [];
    $_FILES = $request->files ?? [];
    ['request_method' => $method, 'request_uri' => $path] = $request->server;
    [$status, $body, $headers] = $adapter->answer($method, $path, $request->header ?? []);
    $response->status($status);
    foreach ($headers as $name => $values) {
        $response->header($name, count($values) === 1 ? $values[0] : $values);
    }
    $response->end($body);
});
$server->start();
