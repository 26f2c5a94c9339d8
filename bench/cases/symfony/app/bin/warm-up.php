<?php

declare(strict_types=1);

// What `bin/console cache:warmup --env=prod` does: Debian's package set here has no Console component.
use App\Kernel;

require dirname(__DIR__).'/bootstrap.php';

$kernel = new Kernel('prod', false);
$kernel->boot();
$kernel->getContainer()->get('cache_warmer')->enableOptionalWarmers();
$kernel->getContainer()->get('cache_warmer')->warmUp($kernel->getCacheDir());
