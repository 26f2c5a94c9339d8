<?php

declare(strict_types=1);

namespace Howdah\Psr15\Tests;

use Howdah\Psr15\Requests;
use Howdah\Psr15\Runner;
use Nyholm\Psr7\Response;
use PHPUnit\Framework\TestCase;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;
use Psr\Http\Server\RequestHandlerInterface;

final class RunnerTest extends TestCase
{
    use Superglobals;

    private static function serve(): void
    {
        $application = new class implements RequestHandlerInterface {
            private int $count = 0;

            public function handle(ServerRequestInterface $request): ResponseInterface
            {
                return new Response(200, [], ++$this->count . $request->getUri()->getPath() . ' ');
            }
        };
        (new Runner($application, Requests::find()))->run();
    }

    public function testAWorkerHandlesAllRequestsWithOneApplication(): void
    {
        $_SERVER['FRANKENPHP_WORKER'] = '1';
        Server::$requests = ['/a', '/b', '/c'];
        $this->expectOutputString('1/a 2/b 3/c ');
        self::serve();
    }

    public function testWithoutAWorkerTheScriptHandlesItsOwnRequest(): void
    {
        unset($_SERVER['FRANKENPHP_WORKER']);
        $_SERVER['REQUEST_URI'] = '/own';
        Server::$requests = ['/of-a-worker'];
        $this->expectOutputString('1/own ');
        self::serve();
        self::assertSame(['/of-a-worker'], Server::$requests);
    }
}
