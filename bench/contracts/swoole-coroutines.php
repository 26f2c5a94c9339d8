<?php

declare(strict_types=1);

use Swoole\Coroutine;
use Swoole\Http\Request;
use Swoole\Http\Response;

// Swoole's HTTP server with a coroutine for each request.   swoole-coroutines.php PORT WORKERS DOCROOT CONNECTIONS
// Coroutines share superglobals, so only cases with a coroutines.php are served: it is given the number of connections
// of the process and returns what answers a request with echo and header().
if (function_exists('header')) {
    throw new LogicException('start PHP with -d disable_functions=header');
} else {
    // Coroutines give way to each other, so the answer is that of the coroutine.
    function header(string $header): void
    {
        [$name, $value] = explode(':', $header, 2);
        Coroutine::getContext()['response']->header($name, trim($value));
    }
}

$server = new Swoole\Http\Server('127.0.0.1', (int) $argv[1], SWOOLE_BASE);
$server->set([
    'worker_num' => (int) $argv[2],
    'log_level' => SWOOLE_LOG_WARNING,
    'http_compression' => true,
    'enable_coroutine' => true,
    'hook_flags' => SWOOLE_HOOK_ALL,
    // One socket for all processes would leave most connections to the first that wakes up.
    'enable_reuse_port' => true,
]);
$handler = null;
$server->on('workerStart', static function () use (&$handler, $argv): void {
    $handler = (require dirname(__DIR__).'/coroutines.php')((int) $argv[4]);
});
$server->on('request', static function (Request $request, Response $response) use (&$handler, $argv): void {
    Coroutine::getContext()['response'] = $response;
    ob_start();
    // Named as in bench/harness/cases.py; it is asked alone.
    if ($request->server['request_uri'] === '/howdah-bench-probe.php') {
        $_GET = $request->get ?? [];
        require $argv[3].'/howdah-bench-probe.php';
    } else {
        $handler();
    }
    $response->end((string) ob_get_clean());
});
$server->start();
