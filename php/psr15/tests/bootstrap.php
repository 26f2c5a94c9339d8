<?php

// With Composer's packages if they are installed, otherwise with those of the distribution.

declare(strict_types=1);

if (is_file(__DIR__ . '/../vendor/autoload.php')) {
    require __DIR__ . '/../vendor/autoload.php';
} else {
    require_once 'Nyholm/Psr7/autoload.php';
    spl_autoload_register(static function (string $class): void {
        $folders = ['Howdah\Psr15\Tests\\' => __DIR__, 'Howdah\Psr15\\' => __DIR__ . '/../src'];
        foreach ($folders as $prefix => $folder) {
            $file = $folder . '/' . strtr(substr($class, strlen($prefix)), '\\', '/') . '.php';
            if (str_starts_with($class, $prefix) && is_file($file)) {
                require_once $file;
                return;
            }
        }
    });
    // Debian 12 has no package of it.
    if (!interface_exists('Psr\Http\Server\RequestHandlerInterface')) {
        require_once __DIR__ . '/RequestHandlerInterface.inc';
    }
}
require_once __DIR__ . '/functions.inc';
require_once __DIR__ . '/server.inc';
