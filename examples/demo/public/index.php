<?php

declare(strict_types=1);

use Caravan\App;
use Caravan\Http\Request;

// PHP's built-in server runs this for every file: false makes it serve static ones itself.
$static = ['/assets/caravan.css', '/assets/caravan.js', '/assets/icon.svg'];
if (PHP_SAPI === 'cli-server' && in_array($_SERVER['REQUEST_URI'] ?? '', $static, true)) {
    return false;
}

require_once __DIR__ . '/../src/autoload.php';

if (!isset($_SERVER['FRANKENPHP_WORKER']) || !function_exists('frankenphp_handle_request')) {
    (new App(Request::fromGlobals()))->run();
    return;
}

// Worker mode: this script runs once, and the loop below serves request after request. Everything that
// belongs to one request hangs on its App object and goes away with it.
$served = 0;
$handler = static function () use (&$served): void {
    (new App(Request::fromGlobals(), ++$served))->run();
};
do {
    $more = frankenphp_handle_request($handler);
} while ($more);
