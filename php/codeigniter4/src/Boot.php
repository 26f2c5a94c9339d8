<?php

declare(strict_types=1);

namespace Howdah\CodeIgniter4;

use CodeIgniter\Boot as Framework;
use CodeIgniter\CodeIgniter;
use Config\Paths;

/**
 * The steps of CodeIgniter 4.5 and later, up to an application that has not run yet. The cache of
 * configurations is not used: it saves a boot per request, and there is only one boot here.
 */
final class Boot extends Framework
{
    public static function application(Paths $paths): CodeIgniter
    {
        self::definePathConstants($paths);
        if (!defined('APP_NAMESPACE')) {
            self::loadConstants();
        }
        self::checkMissingExtensions();
        self::loadDotEnv($paths);
        self::defineEnvironment();
        self::loadEnvironmentBootstrap($paths);
        self::loadCommonFunctions();
        self::loadAutoloader();
        self::setExceptionHandler();
        self::initializeKint();
        self::autoloadHelpers();

        return self::initializeCodeIgniter()->setContext('web');
    }
}
