<?php

declare(strict_types=1);

// Slim with Slim's PSR-7, both of the distribution. With an argument, the autoloader of spiral/roadrunner-http,
// RoadRunner's worker creates the requests. Without it they are created here.

use Psr\Http\Message\ResponseInterface as Response;
use Psr\Http\Message\ServerRequestInterface as Request;
use Slim\App;
use Slim\Psr7\Factory\ResponseFactory;
use Slim\Psr7\Factory\ServerRequestFactory;
use Slim\Psr7\Factory\StreamFactory;
use Slim\Psr7\Factory\UploadedFileFactory;
use Spiral\RoadRunner\Http\PSR7Worker;
use Spiral\RoadRunner\Worker;

ini_set('display_errors', 'stderr');
// Slim 3 and its container are older than this PHP.
error_reporting(E_ALL & ~E_DEPRECATED);
require_once 'Slim/autoload.php';
require_once 'Slim/Psr7/autoload.php';

$app = new App();
$served = 0;
// Slim binds its container to the functions, so they cannot be static.
$app->add(function (Request $request, Response $response, callable $next) use (&$served): Response {
    return $next($request, $response)->withHeader('X-Served', (string) ++$served);
});
$app->get('/hello/{name}', function (Request $request, Response $response, array $arguments): Response {
    $response->getBody()->write("Hello, {$arguments['name']}, {$request->getQueryParams()['from']}");
    return $response;
});
$app->post('/form', function (Request $request, Response $response): Response {
    $file = $request->getUploadedFiles()['file'];
    $shown = [$request->getParsedBody(), $file->getClientFilename(), (string) $file->getStream()];
    $response->getBody()->write((string) json_encode($shown));
    return $response->withStatus(201)->withAddedHeader('Set-Cookie', 'a=1')->withAddedHeader('Set-Cookie', 'b=2');
});

$streams = new StreamFactory();
$files = new UploadedFileFactory();
$responses = new ResponseFactory();
if (isset($argv[1])) {
    require $argv[1];
    $worker = new PSR7Worker(Worker::create(), new ServerRequestFactory(), $streams, $files);
    while (($request = $worker->waitRequest()) !== null) {
        $worker->respond($app->process($request, $responses->createResponse()));
    }
    exit;
}

require __DIR__ . '/goridge.inc';
$goridge = new Goridge();
while (($received = $goridge->request()) !== null) {
    [$context, $body] = $received;
    $request = (new ServerRequestFactory())->createServerRequest($context['method'], $context['uri'])
        ->withCookieParams($context['cookies'] ?? []);
    foreach ($context['headers'] as $name => $values) {
        $request = $request->withHeader($name, $values);
    }
    parse_str($context['rawQuery'], $query);
    $request = $context['parsed']
        ? $request->withParsedBody(json_decode($body, true))
        : $request->withBody($streams->createStream($body));
    $uploaded = array_map(static fn (array $file) => $files->createUploadedFile(
        $streams->createStreamFromFile($file['tmpName']),
        $file['size'],
        $file['error'],
        $file['name'],
        $file['mime'],
    ), $context['uploads'] ?? []);
    $request = $request->withQueryParams($query)->withUploadedFiles($uploaded);
    $response = $app->process($request, $responses->createResponse());
    $goridge->respond($response->getStatusCode(), (string) $response->getBody(), $response->getHeaders());
}
