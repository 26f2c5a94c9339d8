<?php

declare(strict_types=1);

// Debian's packages bring an autoloader each; there is no Composer vendor folder.
if (!class_exists(Composer\InstalledVersions::class)) {
    require __DIR__.'/src/InstalledVersions.php';
}
require_once '/usr/share/php/Symfony/Bundle/FrameworkBundle/autoload.php';
require_once '/usr/share/php/Symfony/Bundle/TwigBundle/autoload.php';

spl_autoload_register(static function (string $class): void {
    if (str_starts_with($class, 'App\\')) {
        require __DIR__.'/src/'.substr($class, 4).'.php';
    }
});
