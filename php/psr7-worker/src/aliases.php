<?php

declare(strict_types=1);

// In worker mode RoadRunner's names are those of this package, so that its worker scripts run as they are. Started by
// RoadRunner, or without a worker, they are RoadRunner's own.

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
