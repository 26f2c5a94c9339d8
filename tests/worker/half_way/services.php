<?php

// Shared services as in CodeIgniter: created on request, stored in static properties, and reset by the loop between
// requests, except those that a request in flight uses.

declare(strict_types=1);

require_once __DIR__ . '/ways.inc';
require_once __DIR__ . '/Services.inc';

HalfWay\note_boot();
$services = new Services();
$handler = static function () use ($services): void {
    echo $services->within(static function () use ($services): string {
        $user = $services->get('user');
        if (!isset($_GET['way'])) {
            return $user->name = $_GET['login'] ?? $user->name ?? 'nobody';
        }
        $user->name = 'mallory';
        HalfWay\leave($_GET['way'], $services->within(...));
        return 'ended';
    });
};
while (frankenphp_handle_request($handler)) {
    $services->reset();
}
