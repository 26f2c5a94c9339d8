<?php

declare(strict_types=1);

namespace Composer;

/**
 * Distributions package Symfony without Composer, but Symfony 6 asks Composer for the installed packages. A package
 * that is not known to be for development only is used if its classes can be loaded.
 */
final class InstalledVersions
{
    public static function isInstalled(string $package, bool $includeDevRequirements = true): bool
    {
        return false;
    }
}
