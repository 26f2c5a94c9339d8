<?php

// With Composer's packages if they are installed; otherwise with stand-ins of the framework's classes, which no
// distribution packages.

declare(strict_types=1);

if (is_file(__DIR__ . '/../vendor/autoload.php')) {
    require __DIR__ . '/../vendor/autoload.php';
} else {
    spl_autoload_register(static function (string $class): void {
        $folders = [
            'Howdah\CodeIgniter4\Tests\\' => __DIR__,
            'Howdah\CodeIgniter4\\' => __DIR__ . '/../src',
            'CodeIgniter\\' => __DIR__ . '/Framework',
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
