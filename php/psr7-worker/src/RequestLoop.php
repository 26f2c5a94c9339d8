<?php

declare(strict_types=1);

namespace Howdah\Psr7Worker;

use Fiber;
use LogicException;

/**
 * Converts the server's callback to a loop, because a RoadRunner script requests the next request
 * itself. The callback waits in a Fiber while the script handles its request.
 */
final class RequestLoop
{
    /** @var Fiber<mixed, mixed, mixed, mixed>|null */
    private ?Fiber $fiber = null;

    /** Whether the script has ended during a request, by exit() or an exception. */
    private bool $ended = false;

    /** Whether the only request of a script without a worker has been returned. */
    private bool $served = false;

    public static function isWorker(): bool
    {
        return (bool) ($_SERVER['FRANKENPHP_WORKER'] ?? false) && function_exists('frankenphp_handle_request');
    }

    /**
     * Ends the current request and waits for the next one.
     *
     * @return bool false if the worker must exit
     */
    public function next(): bool
    {
        if (!self::isWorker() && $this->fiber === null) {
            $first = !$this->served;
            $this->served = true;
            return $first;
        }
        if ($this->fiber === null) {
            // A client that disconnects must not interrupt the application.
            ignore_user_abort(true);
            $fiber = new Fiber($this->serve(...));
            $this->fiber = $fiber;
            $fiber->start();
        } elseif ($this->fiber->isSuspended()) {
            $this->fiber->resume();
        }
        return !$this->fiber->isTerminated();
    }

    private function serve(): void
    {
        $wait = function (): void {
            if (Fiber::getCurrent() !== $this->fiber) {
                throw new LogicException(
                    'This worker runs several requests at a time (`concurrency`), but its script handles one after '
                    . 'another: remove `concurrency`, or use howdah/psr15.',
                );
            }
            $resumed = false;
            try {
                Fiber::suspend();
                $resumed = true;
            } finally {
                $this->ended = !$resumed;
                if ($this->ended && !headers_sent()) {
                    http_response_code(500);
                }
            }
        };
        while (frankenphp_handle_request($wait) && !$this->ended) {
            // Otherwise cycles of the request would keep memory until PHP's collector runs in a
            // later request.
            gc_collect_cycles();
        }
    }
}
