<?php

declare(strict_types=1);

use App\Kernel;
use Howdah\Runtime\WorkerRunner;

// What howdah/runtime does with the kernel that public/index.php returns; Debian's Symfony is older than 7.4.
require __DIR__.'/bootstrap.php';
require_once '/usr/share/php/Symfony/Component/Runtime/autoload.php';
require dirname(__DIR__).'/runtime/WorkerRunner.php';

return (new WorkerRunner(new Kernel('prod', false)))->run();
