<?php

declare(strict_types=1);

namespace Howdah\Psr15\Tests;

/**
 * Superglobals of one request, for each test.
 */
trait Superglobals
{
    /** @var array<string, array<mixed>> */
    private array $saved = [];

    protected function setUp(): void
    {
        $this->saved = [$_SERVER, $_GET, $_POST, $_COOKIE, $_FILES];
        Server::reset();
    }

    protected function tearDown(): void
    {
        [$_SERVER, $_GET, $_POST, $_COOKIE, $_FILES] = $this->saved;
    }
}
