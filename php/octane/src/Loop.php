<?php

declare(strict_types=1);

namespace Howdah\Octane;

use Laravel\Octane\ApplicationFactory;
use Laravel\Octane\RequestContext;
use Laravel\Octane\Worker;
use LogicException;
use Throwable;

/**
 * Octane's worker in the loop of the server. The application is booted before it, and workers are
 * forks of that boot.
 */
final class Loop
{
    /** Whether the application is handling a request. */
    private bool $busy = false;

    private function __construct(private readonly Worker $worker, private readonly Client $client)
    {
    }

    public static function run(string $basePath): void
    {
        $client = new Client();
        $worker = new Worker(new ApplicationFactory($basePath), $client);
        $worker->boot();
        $loop = new self($worker, $client);
        // A client that disconnects must not interrupt the application.
        ignore_user_abort(true);
        try {
            while (frankenphp_handle_request($loop->handle(...))) {
                continue;
            }
        } finally {
            $worker->terminate();
        }
    }

    private function handle(): void
    {
        if ($this->busy) {
            throw new LogicException(
                'This worker runs several requests at a time (`concurrency`), which Octane does not support: it gives '
                . 'the services of one application the request at hand. Remove `concurrency`.',
            );
        }
        $this->busy = true;
        try {
            [$request, $context] = $this->client->marshalRequest(new RequestContext());
            $this->worker->handle($request, $context);
        } catch (Throwable $error) {
            // Only errors that Octane itself could not handle.
            report($error);
            if (!headers_sent()) {
                http_response_code(500);
            }
        } finally {
            $this->busy = false;
        }
    }
}
