<?php

declare(strict_types=1);

// Swoole's HTTP server.   swoole.php PORT WORKERS DOCROOT
require __DIR__.'/adapter.php';
$server = new Swoole\Http\Server('127.0.0.1', (int) $argv[1], SWOOLE_PROCESS);
$server->set([
    'worker_num' => (int) $argv[2],
    'log_level' => SWOOLE_LOG_WARNING,
    'http_compression' => true,
    // One request at a time, as everywhere else: superglobals belong to it.
    'enable_coroutine' => false,
    'package_max_length' => 64 << 20,
]);
$adapter = null;
$server->on('workerStart', static function () use (&$adapter, $argv): void {
    $adapter = new Adapter($argv[3]);
});
$server->on('request', static function ($request, $response) use (&$adapter): void {
    $_GET = $request->get ?? [];
    $_COOKIE = $request->cookie ?? [];
    $_SERVER['REQUEST_METHOD'] = $request->server['request_method'];
    $_SERVER['REQUEST_URI'] = $request->server['request_uri'];
    [$status, $body, $headers] = $adapter->answer($request->server['request_uri']);
    $response->status($status);
    foreach ($headers as $name => $values) {
        $response->header($name, $values[0]);
    }
    $response->end($body);
});
$server->start();
