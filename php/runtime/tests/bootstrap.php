<?php

// With Composer's packages if they are installed, otherwise with those of the distribution.

declare(strict_types=1);

if (is_file(__DIR__ . '/../vendor/autoload.php')) {
    require __DIR__ . '/../vendor/autoload.php';
} else {
    foreach (['Runtime', 'HttpKernel', 'HttpFoundation', 'EventDispatcher'] as $component) {
        require_once "Symfony/Component/$component/autoload.php";
    }
    spl_autoload_register(static function (string $class): void {
        $folders = ['Howdah\Runtime\Tests\\' => __DIR__, 'Howdah\Runtime\\' => __DIR__ . '/../src'];
        foreach ($folders as $prefix => $folder) {
            $file = $folder . '/' . strtr(substr($class, strlen($prefix)), '\\', '/') . '.php';
            if (str_starts_with($class, $prefix) && is_file($file)) {
                require_once $file;
                return;
            }
        }
    });
}
require_once __DIR__ . '/server.inc';
