<?php

declare(strict_types=1);

use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;
use Slim\Factory\AppFactory;

$application = AppFactory::create();
$served = 0;

$application->get('/', function (
    ServerRequestInterface $request,
    ResponseInterface $response
) use (&$served): ResponseInterface {
    $served++;
    $response->getBody()->write('Request ' . $served . ' of process ' . getmypid() . "\n");
    return $response->withHeader('Content-Type', 'text/plain');
});

$application->get('/hello/{name}', function (
    ServerRequestInterface $request,
    ResponseInterface $response,
    array $arguments
): ResponseInterface {
    $response->getBody()->write('Hello, ' . $arguments['name'] . "!\n");
    return $response->withHeader('Content-Type', 'text/plain');
});

$application->addErrorMiddleware(displayErrorDetails: false, logErrors: true, logErrorDetails: true);

return $application;
