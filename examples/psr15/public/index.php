<?php

declare(strict_types=1);

use Example\Emitter;
use Psr\Http\Server\RequestHandlerInterface;
use Slim\Psr7\Factory\ServerRequestFactory;

require __DIR__ . '/../vendor/autoload.php';

/** @var RequestHandlerInterface $application */
$application = require __DIR__ . '/../src/application.php';
$emitter = new Emitter();

$handle = static function () use ($application, $emitter): void {
    $emitter->emit($application->handle(ServerRequestFactory::createFromGlobals()));
};

if (!isset($_SERVER['FRANKENPHP_WORKER'])) {
    $handle();
    return;
}

do {
    $more = frankenphp_handle_request($handle);
    // Cycles of the last request would hold its memory until PHP's own collector runs in a later one.
    gc_collect_cycles();
} while ($more);
