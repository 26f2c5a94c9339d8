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
    $_POST = $request->getParsedBody() ?? [];
    $_FILES = array_map(
        static fn (array $file): array => ['type' => $file['mime'], 'tmp_name' => $file['tmpName']] + $file,
        $request->uploads,
    );
    $path = (string) parse_url($request->uri, PHP_URL_PATH);
    [$status, $body, $headers] = $adapter->answer($request->method, $path, $request->headers);
    $http->respond($status, $body, $headers);
}
