<?php

// Laravel's container, used as by Octane's worker: each request gets a clone of the application. The clone replaces the
// application until a `finally` block restores it and empties the clone.

declare(strict_types=1);

require_once __DIR__ . '/ways.inc';
require_once 'Illuminate/Container/autoload.php';
require_once __DIR__ . '/Sandboxes.inc';

HalfWay\note_boot();
$sandboxes = new Sandboxes();
$handler = static function () use ($sandboxes): void {
    echo $sandboxes->handle(static function (Illuminate\Container\Container $app) use ($sandboxes): string {
        if (!isset($_GET['way'])) {
            return $app->make('login')->user = $_GET['login'] ?? $app->make('login')->user ?? 'nobody';
        }
        $app->make('login')->user = 'mallory';
        HalfWay\leave($_GET['way'], $sandboxes->handle(...));
        return 'ended';
    });
};
while (frankenphp_handle_request($handler)) {
    gc_collect_cycles();
}
