<?php

declare(strict_types=1);

// Octane wants it here, where Composer would have made it.
require_once 'Illuminate/autoload.php';
require_once 'Illuminate/Foundation/helpers.php';
spl_autoload_register(static function (string $class): void {
    if (str_starts_with($class, 'Laravel\\Octane\\')) {
        $file = __DIR__.'/laravel/octane/src/'.strtr(substr($class, 15), '\\', '/').'.php';
        if (is_file($file)) {
            require $file;
        }
    }
});
