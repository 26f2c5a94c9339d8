<?php

// Symfony's kernel and FrameworkBundle, with a service that stores the login and is reset between requests, like
// Symfony's token storage.

declare(strict_types=1);

require_once __DIR__ . '/ways.inc';
if (getenv('HALF_WAY_SYMFONY')) {
    require_once getenv('HALF_WAY_SYMFONY') . '/vendor/autoload.php';
} else {
    require_once 'Symfony/Bundle/FrameworkBundle/autoload.php';
    require_once 'Symfony/Component/Runtime/autoload.php';
}
require_once __DIR__ . '/../../../php/runtime/src/Runtime.php';
require_once __DIR__ . '/../../../php/runtime/src/WorkerRunner.php';
require_once __DIR__ . '/AppKernel.php';
// Packages of distributions lack Composer, which newer releases ask for the installed packages.
if (!class_exists(Composer\InstalledVersions::class)) {
    require_once __DIR__ . '/../../apps/symfony/app/src/InstalledVersions.php';
}

HalfWay\note_boot();
$_SERVER['APP_SECRET'] = 'of the tests';
$runtime = new Howdah\Runtime\Runtime(['disable_dotenv' => true, 'error_handler' => false]);
exit($runtime->getRunner(new AppKernel('prod', false))->run());
