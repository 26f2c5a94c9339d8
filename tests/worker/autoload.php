<?php

// An autoloader of the boot is used by all requests and is registered once.

declare(strict_types=1);

require_once __DIR__ . '/_executor.php';

spl_autoload_register(static function (string $class): void {
    if ($class === 'Loaded') {
        require __DIR__ . '/Loaded.inc';
    }
});

return static function (): void {
    echo count(spl_autoload_functions()), ' ', Loaded::name(), ' ', class_exists('Missing') ? 'there' : 'missing';
};
