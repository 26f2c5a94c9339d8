<?php

declare(strict_types=1);

namespace Composer;

/**
 * Distributions package Symfony without Composer, and Symfony 6 asks Composer what is there. What is not known
 * to be installed for development only is taken, if its classes can be loaded.
 */
final class InstalledVersions
{
    public static function isInstalled(string $package, bool $includeDevRequirements = true): bool
    {
        return false;
    }
}
