<?php

declare(strict_types=1);

// The same with spiral/roadrunner-http and a PSR-7 library, unmodified. Its argument is their autoloader.

use Nyholm\Psr7\Factory\Psr17Factory;
use Nyholm\Psr7\Response;
use Spiral\RoadRunner\Http\PSR7Worker;
use Spiral\RoadRunner\Worker;

ini_set('display_errors', 'stderr');
require $argv[1];

$factory = new Psr17Factory();
$psr7 = new PSR7Worker(Worker::create(), $factory, $factory, $factory);
while (($request = $psr7->waitRequest()) !== null) {
    try {
        $path = $request->getUri()->getPath();
        $query = $request->getQueryParams();
        $respond = static fn (string $body): Response => new Response(200, [], $body);
        $psr7->chunkSize = 0;
        switch ($path) {
            case '/hello':
                $psr7->respond(new Response(201, ['X-A' => ['b', 'c']], strtoupper($query['hello'])));
                break;
            case '/header':
                $psr7->respond($respond($request->getHeaderLine('input'))->withAddedHeader('Header', $query['hello']));
                break;
            case '/cookie':
                $cookies = $request->getCookieParams();
                $psr7->respond($respond($cookies['input'])->withAddedHeader('Set-Cookie', 'output=x; HttpOnly'));
                break;
            case '/data':
                $psr7->respond($respond((string) json_encode($request->getParsedBody())));
                break;
            case '/payload':
                $decoded = json_decode((string) $request->getBody(), true, 512, JSON_THROW_ON_ERROR);
                $psr7->respond($respond((string) json_encode(array_flip($decoded))));
                break;
            case '/upload':
                $files = $request->getUploadedFiles();
                array_walk_recursive($files, static function (mixed &$file): void {
                    $file = [$file->getClientFilename(), $file->getSize(), $file->getError(), md5((string) $file->getStream())];
                });
                $psr7->respond($respond((string) json_encode($files)));
                break;
            case '/server':
                $psr7->respond($respond($_SERVER['REMOTE_ADDR'] . ' ' . $_SERVER['HTTP_USER_AGENT']));
                break;
            case '/attributes':
                $psr7->respond($respond((string) $request->getAttribute('tenant')));
                break;
            case '/stream':
                $psr7->chunkSize = 1000;
                $psr7->respond($respond(str_repeat('0123456789', 2000)));
                break;
            case '/generator':
                $http = $psr7->getHttpWorker();
                $http->respond(103, '', ['Link' => ['</a.css>; rel=preload']], false);
                $parts = static function () use ($query): Generator {
                    for ($number = 0; $number < (int) $query['parts']; $number++) {
                        yield "part {$number}\n";
                    }
                    return 'end';
                };
                $http->respond(200, $parts(), ['X-Stream' => ['yes']]);
                break;
            case '/throw':
                throw new RuntimeException('thrown by the application');
            case '/print':
                echo 'printed by the application';
                $psr7->respond($respond('printed'));
                break;
            case '/stop':
                $psr7->respond($respond((string) getmypid()));
                $psr7->getWorker()->stop();
                break 2;
            default:
                $psr7->respond($respond((string) getmypid()));
        }
    } catch (Throwable $error) {
        $psr7->getWorker()->error($error->getMessage());
    }
}
