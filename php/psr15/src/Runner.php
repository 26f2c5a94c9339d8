<?php

declare(strict_types=1);

namespace Howdah\Psr15;

use Psr\Http\Server\RequestHandlerInterface;

/**
 * Runs an application. Handles all requests if the server runs this script as a worker, otherwise
 * the one request for which the script was started. It stores no state of a request, so a worker
 * may handle several requests at the same time.
 */
final class Runner
{
    public function __construct(
        private readonly RequestHandlerInterface $application,
        private readonly Requests $requests,
        private readonly Emitter $emitter = new Emitter(),
    ) {
    }

    public function run(): void
    {
        if (!($_SERVER['FRANKENPHP_WORKER'] ?? false) || !function_exists('frankenphp_handle_request')) {
            $this->serve();
            return;
        }
        // A client that disconnects must not interrupt the application.
        ignore_user_abort(true);
        do {
            $goesOn = frankenphp_handle_request($this->serve(...));
            // Otherwise cycles of the request would keep memory until PHP's collector runs in a
            // later request.
            gc_collect_cycles();
        } while ($goesOn);
    }

    private function serve(): void
    {
        $this->emitter->emit($this->application->handle($this->requests->current()));
    }
}
