<?php

// A handler that responds with the request that it got, on Debian's slim-psr7, run by php/psr15.

declare(strict_types=1);

use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;
use Psr\Http\Server\RequestHandlerInterface;

require_once 'Slim/Psr7/autoload.php';
require_once __DIR__ . '/RequestHandlerInterface.inc';
foreach (['Emitter', 'Requests', 'Runner'] as $class) {
    require_once __DIR__ . "/../../../php/psr15/src/$class.php";
}

$application = new class implements RequestHandlerInterface {
    public function handle(ServerRequestInterface $request): ResponseInterface
    {
        usleep((int) ($request->getQueryParams()['wait'] ?? 0) * 1000);
        $response = new Slim\Psr7\Response(201);
        $response->getBody()->write(json_encode([
            'process' => getmypid(),
            'method' => $request->getMethod(),
            'uri' => (string) $request->getUri(),
            'header' => $request->getHeaderLine('X-Who'),
            'cookies' => $request->getCookieParams(),
            'parsed' => $request->getParsedBody(),
            'body' => (string) $request->getBody(),
            'files' => array_map(
                static fn($file): array => [$file->getClientFilename(), (string) $file->getStream()],
                $request->getUploadedFiles()['files'] ?? [],
            ),
        ], JSON_THROW_ON_ERROR));
        return $response->withHeader('Content-Type', 'application/json')
            ->withAddedHeader('Set-Cookie', 'one=1')->withAddedHeader('Set-Cookie', 'two=2');
    }
};
(new Howdah\Psr15\Runner($application, Howdah\Psr15\Requests::find()))->run();
