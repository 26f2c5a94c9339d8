<?php

declare(strict_types=1);

namespace Howdah\Psr15;

use Psr\Http\Server\RequestHandlerInterface;

/**
 * Serves an application: request after request where the server runs this script as a worker, otherwise the one that
 * the script was started for. It holds nothing of a request, so a worker may run several at a time.
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
        // A client that leaves must not stop the application half way.
        ignore_user_abort(true);
        do {
            $goesOn = frankenphp_handle_request($this->serve(...));
            // Cycles of the request would hold its memory until PHP's own collector runs in a later one.
            gc_collect_cycles();
        } while ($goesOn);
    }

    private function serve(): void
    {
        $this->emitter->emit($this->application->handle($this->requests->current()));
    }
}
