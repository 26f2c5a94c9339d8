<?php

declare(strict_types=1);

namespace Howdah\CodeIgniter4;

use CodeIgniter\CodeIgniter;
use CodeIgniter\Config\DotEnv;
use CodeIgniter\Config\Services;
use Config\Paths;

/**
 * The steps of CodeIgniter's `public/index.php` before it runs the application.
 */
final class Bootstrap
{
    public static function boot(Paths $paths): CodeIgniter
    {
        $system = rtrim($paths->systemDirectory, '\\/ ');
        if (is_file("$system/Boot.php")) {
            require_once "$system/Boot.php";
            return Boot::application($paths);
        }
        // Before 4.5, the file expects $paths in its scope.
        require "$system/bootstrap.php";
        require_once "$system/Config/DotEnv.php";
        (new DotEnv(self::constant('ROOTPATH')))->load();
        if (!defined('ENVIRONMENT')) {
            define('ENVIRONMENT', env('CI_ENVIRONMENT', 'production'));
        }
        $application = Services::codeigniter();
        $application->initialize();
        return $application->setContext('web');
    }

    /**
     * A constant that only a booted application has.
     */
    private static function constant(string $name): string
    {
        $value = constant($name);
        return is_string($value) ? $value : '';
    }
}
