<?php

// A worker script as in RoadRunner's documentation, with its class names, run by php/psr7-worker on Debian's
// nyholm/psr7.

declare(strict_types=1);

use Nyholm\Psr7\Factory\Psr17Factory;
use Nyholm\Psr7\Response;
use Spiral\RoadRunner\Http\PSR7Worker;
use Spiral\RoadRunner\Worker;

require_once 'Nyholm/Psr7/autoload.php';
require_once __DIR__ . '/autoload.inc';
require_once __DIR__ . '/application.inc';

$worker = Worker::create();
$factory = new Psr17Factory();
$psr7 = new PSR7Worker($worker, $factory, $factory, $factory);
$handled = 0;

while ($request = $psr7->waitRequest()) {
    try {
        respond($psr7, $request, ++$handled);
    } catch (Throwable $error) {
        $psr7->getWorker()->error($error->getMessage());
    }
}
