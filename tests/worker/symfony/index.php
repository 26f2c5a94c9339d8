<?php

// A kernel for tests on Debian's Symfony components, run by php/runtime like a script of Symfony's recipe.

declare(strict_types=1);

require_once 'Symfony/Component/HttpKernel/autoload.php';
require_once 'Symfony/Component/Runtime/autoload.php';
require_once __DIR__ . '/../../../php/runtime/src/Runtime.php';
require_once __DIR__ . '/../../../php/runtime/src/WorkerRunner.php';
require_once __DIR__ . '/Kernel.inc';

// Values that .env and the boot's own request leave in $_SERVER.
$_SERVER['APP_SECRET'] = 'of the boot';
$_SERVER['HTTP_X_BOOT'] = 'must not be seen';
$_SERVER['CONTENT_TYPE'] = 'of/the-boot';

$runtime = new Howdah\Runtime\Runtime(['disable_dotenv' => true, 'error_handler' => false]);
$application = isset($_SERVER['MAINTENANCE'])
    ? new Symfony\Component\HttpFoundation\Response('back soon', 503)
    : new Kernel();
exit($runtime->getRunner($application)->run());
