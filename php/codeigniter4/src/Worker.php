<?php

declare(strict_types=1);

namespace Howdah\CodeIgniter4;

use CodeIgniter\CodeIgniter;
use Config\Paths;

/**
 * Boots an application once. Handles all requests if the server runs this script as a worker,
 * otherwise the one request for which the script was started.
 */
final class Worker
{
    /** Whether the application is handling a request. */
    private bool $busy = false;

    private function __construct(
        private readonly CodeIgniter $application,
        private readonly RequestState $state,
        private readonly Connections $connections,
    ) {
    }

    public static function run(Paths $paths): void
    {
        $application = Bootstrap::boot($paths);
        if (!($_SERVER['FRANKENPHP_WORKER'] ?? false) || !function_exists('frankenphp_handle_request')) {
            $application->run();
            return;
        }
        (new self($application, new RequestState($application), new Connections()))->loop();
    }

    private function loop(): void
    {
        // A client that disconnects must not interrupt the application.
        ignore_user_abort(true);
        while (frankenphp_handle_request($this->handle(...))) {
            if ($this->busy) {
                // The end of a refused request, see below.
                continue;
            }
            $this->connections->end();
            $this->state->end();
            // Otherwise cycles of the request would keep memory until PHP's collector runs in a
            // later request.
            gc_collect_cycles();
        }
    }

    private function handle(): void
    {
        if ($this->busy) {
            // Not an exception: CodeIgniter would write the error page to the response of the other
            // request.
            frankenphp_log(
                'This worker runs several requests at a time (`concurrency`), but CodeIgniter has one request, one '
                . 'response and one session for the whole process: remove `concurrency`.',
                FRANKENPHP_LOG_LEVEL_ERROR,
            );
            http_response_code(500);
            return;
        }
        $this->busy = true;
        try {
            $this->connections->begin();
            $this->state->begin();
            $this->application->run();
        } finally {
            $this->busy = false;
        }
    }
}
