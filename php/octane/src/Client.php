<?php

declare(strict_types=1);

namespace Howdah\Octane;

use Illuminate\Contracts\Config\Repository;
use Illuminate\Foundation\Application;
use Illuminate\Http\Request;
use Laravel\Octane\Contracts\Client as Contract;
use Laravel\Octane\Octane;
use Laravel\Octane\OctaneResponse;
use Laravel\Octane\RequestContext;
use Symfony\Component\HttpFoundation\Response;
use Throwable;

/**
 * Converts requests and responses between Octane and the server, which uses superglobals and
 * header().
 */
final class Client implements Contract
{
    /**
     * @return array{Request, RequestContext}
     */
    public function marshalRequest(RequestContext $context): array
    {
        return [Request::createFromGlobals(), $context];
    }

    public function respond(RequestContext $context, OctaneResponse $octaneResponse): void
    {
        $response = $octaneResponse->response;
        // Output that the application has echoed is sent before its response, as with php-fpm.
        if ((string) $octaneResponse->outputBuffer !== '' && is_string($response->getContent())) {
            $response->setContent($octaneResponse->outputBuffer . $response->getContent());
        }
        $response->send();
    }

    public function error(Throwable $e, Application $app, Request $request, RequestContext $context): void
    {
        $config = $app->make(Repository::class);
        assert($config instanceof Repository);
        $text = Octane::formatExceptionForClient($e, (bool) $config->get('app.debug'));
        (new Response($text, 500, ['Content-Type' => 'text/plain']))->send();
    }
}
