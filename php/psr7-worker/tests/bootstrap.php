<?php

// With Composer's packages if they are installed, otherwise with those of the distribution and of this repository.

declare(strict_types=1);

if (is_file(__DIR__ . '/../vendor/autoload.php')) {
    require __DIR__ . '/../vendor/autoload.php';
} else {
    require_once 'Nyholm/Psr7/autoload.php';
    spl_autoload_register(static function (string $class): void {
        $folders = [
            'Howdah\Psr7Worker\Tests\\' => __DIR__,
            'Howdah\Psr7Worker\\' => __DIR__ . '/../src',
            'Howdah\Psr15\\' => __DIR__ . '/../../psr15/src',
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
require_once __DIR__ . '/functions.inc';
require_once __DIR__ . '/server.inc';
