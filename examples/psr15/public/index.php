<?php

declare(strict_types=1);

use Howdah\Psr15\Requests;
use Howdah\Psr15\Runner;
use Psr\Http\Server\RequestHandlerInterface;

require __DIR__ . '/../vendor/autoload.php';

/** @var RequestHandlerInterface $application */
$application = require __DIR__ . '/../src/application.php';

(new Runner($application, Requests::find()))->run();
