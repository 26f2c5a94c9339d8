<?php

declare(strict_types=1);

use Spiral\RoadRunner\Http\HttpWorker;
use Spiral\RoadRunner\Worker;

// RoadRunner's loop without PSR-7 objects.   roadrunner.php AUTOLOAD DOCROOT
require $argv[1];
require __DIR__.'/adapter.php';
$adapter = new Adapter($argv[2]);
$http = new HttpWorker(Worker::create());
while (($request = $http->waitRequest()) !== null) {
    $_GET = $request->query;
    $_COOKIE = $request->cookies;
    $_SERVER['REQUEST_METHOD'] = $request->method;
    $_SERVER['REQUEST_URI'] = (string) parse_url($request->uri, PHP_URL_PATH);
    [$status, $body, $headers] = $adapter->answer($_SERVER['REQUEST_URI']);
    $http->respond($status, $body, $headers);
}
