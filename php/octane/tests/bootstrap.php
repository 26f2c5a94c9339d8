<?php

// With Composer's packages if they are installed; otherwise with the distribution's packages of Symfony, and with
// stand-ins of Octane's classes, which no distribution packages.

declare(strict_types=1);

if (is_file(__DIR__ . '/../vendor/autoload.php')) {
    require __DIR__ . '/../vendor/autoload.php';
} else {
    require_once 'Symfony/Component/Process/autoload.php';
    require_once 'Symfony/Component/HttpFoundation/autoload.php';
    spl_autoload_register(static function (string $class): void {
        $folders = [
            'Howdah\Octane\Tests\\' => __DIR__,
            'Howdah\Octane\\' => __DIR__ . '/../src',
            'Laravel\Octane\\' => __DIR__ . '/Laravel',
        ];
        foreach ($folders as $prefix => $folder) {
            $file = $folder . '/' . strtr(substr($class, strlen($prefix)), '\\', '/') . '.php';
            if (str_starts_with($class, $prefix) && is_file($file)) {
                require_once $file;
                return;
            }
        }
    });
}
