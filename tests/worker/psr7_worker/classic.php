<?php

// The same without a worker, where RoadRunner's class names refer to RoadRunner. It uses the names of the package.

declare(strict_types=1);

require_once __DIR__ . '/autoload.inc';

class_alias(Howdah\Psr7Worker\PSR7Worker::class, 'Spiral\RoadRunner\Http\PSR7Worker');
class_alias(Howdah\Psr7Worker\Worker::class, 'Spiral\RoadRunner\Worker');
require __DIR__ . '/index.php';
