<?php

declare(strict_types=1);

spl_autoload_register(static function (string $class): void {
    if (!str_starts_with($class, 'Caravan\\')) {
        return;
    }
    $file = __DIR__ . '/' . strtr(substr($class, strlen('Caravan\\')), '\\', '/') . '.php';
    if (is_file($file)) {
        require $file;
    }
});

require_once __DIR__ . '/helpers.php';
