<?php

declare(strict_types=1);

// In worker mode, RoadRunner's class names refer to this package, so that its worker scripts run
// unchanged. If RoadRunner started the script, or without a worker, they refer to RoadRunner's own
// classes.

namespace Howdah\Psr7Worker;

if (RequestLoop::isWorker() && !isset($_SERVER['RR_MODE'])) {
    $names = [
        WorkerInterface::class => 'Spiral\RoadRunner\WorkerInterface',
        Worker::class => 'Spiral\RoadRunner\Worker',
        HttpWorker::class => 'Spiral\RoadRunner\Http\HttpWorker',
        PSR7WorkerInterface::class => 'Spiral\RoadRunner\Http\PSR7WorkerInterface',
        PSR7Worker::class => 'Spiral\RoadRunner\Http\PSR7Worker',
    ];
    foreach ($names as $ours => $theirs) {
        class_alias($ours, $theirs);
    }
}
