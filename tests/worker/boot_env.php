<?php

// The worker's variables as seen by the boot and by a request.

declare(strict_types=1);

require_once __DIR__ . '/_executor.php';

$boot = $_SERVER;

return static function () use ($boot): void {
    $names = ['FRANKENPHP_WORKER', 'FOO', 'REQUEST_METHOD', 'SCRIPT_FILENAME'];
    $pick = static fn (array $from): array =>
        array_map(static fn (string $name): ?string => $from[$name] ?? null, array_combine($names, $names));
    echo json_encode(['boot' => $pick($boot), 'request' => $pick($_SERVER), 'getenv' => getenv('FOO')]);
};
