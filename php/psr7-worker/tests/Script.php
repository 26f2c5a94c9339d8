<?php

declare(strict_types=1);

namespace Howdah\Psr7Worker\Tests;

/**
 * For tests of worker scripts: the superglobals of a worker.
 */
trait Script
{
    /** @var array<mixed> */
    private array $saved = [];

    protected function setUp(): void
    {
        $this->saved = $_SERVER;
        $_SERVER['FRANKENPHP_WORKER'] = '1';
        $_SERVER['REQUEST_METHOD'] = 'GET';
        Server::reset();
    }

    protected function tearDown(): void
    {
        $_SERVER = $this->saved;
        // That of a script that has not responded to its last request.
        while (ob_get_level() > Server::$level) {
            ob_end_clean();
        }
    }
}
