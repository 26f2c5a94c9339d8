<?php

declare(strict_types=1);

namespace Howdah\Runtime\Tests;

use Closure;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\Response;
use Symfony\Component\HttpKernel\HttpKernelInterface;
use Symfony\Component\HttpKernel\TerminableInterface;

/**
 * A kernel that records its requests.
 */
final class Kernel implements HttpKernelInterface, TerminableInterface
{
    /** @var list<string> calls of all copies */
    public static array $calls = [];

    /** @var list<array<string, mixed>> $_SERVER in each request */
    public static array $seen = [];

    private int $count = 0;

    /**
     * @param (Closure(): void)|null $inside is called in each request
     */
    public function __construct(private readonly ?Closure $inside = null)
    {
        self::$calls = [];
        self::$seen = [];
    }

    public function handle(
        Request $request,
        int $type = HttpKernelInterface::MAIN_REQUEST,
        bool $catch = true,
    ): Response {
        self::$calls[] = ++$this->count . ' handle ' . $request->getPathInfo();
        self::$seen[] = $_SERVER;
        if ($this->inside !== null) {
            ($this->inside)();
        }
        return new Response('body ');
    }

    public function terminate(Request $request, Response $response): void
    {
        self::$calls[] = $this->count . ' terminate ' . $_SERVER['REQUEST_URI'];
    }
}
