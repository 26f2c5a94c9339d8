<?php

declare(strict_types=1);

namespace Howdah\Runtime;

use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\Response;
use Symfony\Component\HttpKernel\HttpKernelInterface;
use Symfony\Component\HttpKernel\TerminableInterface;
use Symfony\Component\Runtime\RunnerInterface;

/**
 * Hands request after request to one kernel until the server says that it is enough.
 */
final class WorkerRunner implements RunnerInterface
{
    /** Variables that describe a request; those of the boot's must not show through. */
    private const OF_A_REQUEST =
        '/^(?:HTTP_|REQUEST_|CONTENT_|PATH_|REMOTE_|PHP_AUTH_|AUTH_|ORIG_|REDIRECT_|QUERY_STRING$|HTTPS$)/';

    private ?Request $request = null;

    private ?Response $response = null;

    /**
     * @param int  $maxRequests      requests after which run() returns; 0: never
     * @param bool $kernelPerRequest each request gets a copy of the kernel, with a container of its own: for workers
     *                               that run several requests at a time
     */
    public function __construct(
        private readonly HttpKernelInterface $kernel,
        private readonly int $maxRequests = 0,
        private readonly bool $kernelPerRequest = false,
    ) {
    }

    public function run(): int
    {
        // A client that leaves must not stop the application half way.
        ignore_user_abort(true);
        $boot = preg_grep(self::OF_A_REQUEST, array_keys($_SERVER), PREG_GREP_INVERT);
        $boot = array_intersect_key($_SERVER, array_flip($boot));
        $boot['APP_RUNTIME_MODE'] = 'web=1&worker=1';

        $handle = function () use ($boot): void {
            // Symfony looks for APP_ENV and its like here, which only the boot has set.
            $_SERVER += $boot;
            if ($this->kernelPerRequest) {
                self::serve(clone $this->kernel);
                return;
            }
            $this->request = Request::createFromGlobals();
            $this->response = $this->kernel->handle($this->request);
            $this->response->send();
        };
        $served = 0;
        do {
            $goesOn = frankenphp_handle_request($handle);
            $this->terminate();
            // Cycles of the request would hold its memory until PHP's own collector runs in a later one.
            gc_collect_cycles();
            $served++;
        } while ($goesOn && ($this->maxRequests === 0 || $served < $this->maxRequests));

        return 0;
    }

    /**
     * Serves a request with a kernel of its own, without a trace in this object, which other requests use meanwhile.
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

    /**
     * Work that the application put off until its response is sent. There is none behind a request that exit() or
     * an exception ended.
     */
    private function terminate(): void
    {
        if ($this->kernel instanceof TerminableInterface && $this->request !== null && $this->response !== null) {
            $this->kernel->terminate($this->request, $this->response);
        }
        $this->request = $this->response = null;
    }
}
