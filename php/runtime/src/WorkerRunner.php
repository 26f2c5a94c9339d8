<?php

declare(strict_types=1);

namespace Howdah\Runtime;

use InvalidArgumentException;
use LogicException;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\Response;
use Symfony\Component\HttpKernel\HttpCache\HttpCache;
use Symfony\Component\HttpKernel\HttpKernelInterface;
use Symfony\Component\HttpKernel\TerminableInterface;
use Symfony\Component\Runtime\RunnerInterface;

/**
 * Passes all requests to one kernel until the server ends the loop.
 */
final class WorkerRunner implements RunnerInterface
{
    /** Variables that describe a request. Those of the boot's request must not be visible in later requests. */
    private const OF_A_REQUEST =
        '/^(?:HTTP_|REQUEST_|CONTENT_|PATH_|REMOTE_|PHP_AUTH_|AUTH_|ORIG_|REDIRECT_|QUERY_STRING$|HTTPS$)/';

    /** Whether the shared kernel is handling a request. */
    private bool $busy = false;

    /**
     * @param HttpKernelInterface|Response $application      a response is sent for every request
     * @param int                          $maxRequests      requests after which run() returns; 0: never
     * @param bool                         $kernelPerRequest each request gets a copy of the kernel, with a separate
     *                                                       container: for workers that run several requests at a time
     *
     * @throws InvalidArgumentException if copies of the kernel would share one container
     */
    public function __construct(
        private readonly HttpKernelInterface|Response $application,
        private readonly int $maxRequests = 0,
        private readonly bool $kernelPerRequest = false,
    ) {
        if ($kernelPerRequest && $application instanceof HttpCache) {
            throw new InvalidArgumentException(
                'kernel_per_request does not work with HttpCache around the kernel, because its copies share the '
                . 'kernel: return the kernel itself, and set framework.http_cache to true.',
            );
        }
    }

    public function run(): int
    {
        // A client that disconnects must not interrupt the application.
        ignore_user_abort(true);
        $boot = array_filter(
            $_SERVER,
            static fn (int|string $name): bool => preg_match(self::OF_A_REQUEST, (string) $name) !== 1,
            ARRAY_FILTER_USE_KEY,
        );
        $boot['APP_RUNTIME_MODE'] = 'web=1&worker=1';

        $handle = function () use ($boot): void {
            // Symfony reads APP_ENV and similar variables from here, where only the boot has set
            // them.
            $_SERVER += $boot;
            $this->handle();
        };
        $served = 0;
        do {
            $continue = frankenphp_handle_request($handle);
            // Otherwise cycles of the request would keep memory until PHP's collector runs in a
            // later request.
            gc_collect_cycles();
            $served++;
        } while ($continue && ($this->maxRequests === 0 || $served < $this->maxRequests));

        return 0;
    }

    private function handle(): void
    {
        $application = $this->application;
        if ($application instanceof Response) {
            (clone $application)->send();
            return;
        }
        if ($this->kernelPerRequest) {
            self::serve(clone $application);
            return;
        }
        if ($this->busy) {
            throw new LogicException(
                'This worker runs several requests at a time (`concurrency`), and they would share one kernel with '
                . 'its request and its user: set HOWDAH_KERNEL_PER_REQUEST to 1, or remove `concurrency`.',
            );
        }
        $this->busy = true;
        try {
            self::serve($application);
        } finally {
            $this->busy = false;
        }
    }

    /**
     * Terminates within the request, as Symfony does since 8.1. Superglobals are still those of the
     * request, and listeners may call exit(). send() has completed the response before.
     */
    private static function serve(HttpKernelInterface $kernel): void
    {
        $request = Request::createFromGlobals();
        $response = $kernel->handle($request);
        $response->send();
        if ($kernel instanceof TerminableInterface) {
            $kernel->terminate($request, $response);
        }
    }
}
