<?php

declare(strict_types=1);

namespace Howdah\Runtime\Tests;

use Howdah\Runtime\WorkerRunner;
use InvalidArgumentException;
use LogicException;
use PHPUnit\Framework\TestCase;
use Symfony\Component\HttpFoundation\Response;
use Symfony\Component\HttpKernel\HttpCache\HttpCache;
use Symfony\Component\HttpKernel\HttpCache\Store;

final class WorkerRunnerTest extends TestCase
{
    /** @var array<mixed> */
    private array $saved = [];

    protected function setUp(): void
    {
        $this->saved = $_SERVER;
        Server::$requests = array_map(
            static fn (string $path): array => ['REQUEST_URI' => $path, 'REQUEST_METHOD' => 'GET'],
            ['/a', '/b', '/c'],
        );
    }

    protected function tearDown(): void
    {
        $_SERVER = $this->saved;
    }

    public function testOneKernelHandlesAllRequestsAndTerminatesInEach(): void
    {
        $this->expectOutputString('body body body ');
        self::assertSame(0, (new WorkerRunner(new Kernel()))->run());
        self::assertSame(
            [
                '1 handle /a', '1 terminate /a', '2 handle /b', '2 terminate /b', '3 handle /c', '3 terminate /c',
            ],
            Kernel::$calls,
        );
    }

    public function testTheLoopEndsAfterItsRequests(): void
    {
        $this->expectOutputString('body body ');
        (new WorkerRunner(new Kernel(), 2))->run();
        self::assertCount(1, Server::$requests);
    }

    public function testEachRequestGetsACopyOfTheKernel(): void
    {
        $this->expectOutputString('body body body ');
        (new WorkerRunner(new Kernel(), 0, true))->run();
        self::assertSame(['1 handle /a', '1 handle /b', '1 handle /c'], array_values(
            array_filter(Kernel::$calls, static fn (string $call): bool => str_contains($call, 'handle')),
        ));
    }

    public function testAResponseIsSentToEveryRequest(): void
    {
        $this->expectOutputString('same same same ');
        (new WorkerRunner(new Response('same ')))->run();
    }

    public function testValuesOfTheBootStayAndItsRequestDoesNot(): void
    {
        $_SERVER = [
            'APP_ENV' => 'prod', 'HTTP_X_BOOT' => 'no', 'REQUEST_URI' => '/boot', 'HTTPS' => 'on',
            'QUERY_STRING' => 'boot=1', 'PHP_AUTH_USER' => 'boot', 'REMOTE_ADDR' => '192.0.2.1', 'KEPT' => '1',
        ];
        Server::$requests[0]['APP_ENV'] = 'of the request';
        $this->expectOutputString('body body body ');
        (new WorkerRunner(new Kernel()))->run();
        [$first, $second] = Kernel::$seen;
        self::assertSame('of the request', $first['APP_ENV']);
        self::assertSame('prod', $second['APP_ENV']);
        self::assertSame('1', $second['KEPT']);
        self::assertSame('web=1&worker=1', $second['APP_RUNTIME_MODE']);
        foreach (['HTTP_X_BOOT', 'HTTPS', 'QUERY_STRING', 'PHP_AUTH_USER', 'REMOTE_ADDR'] as $name) {
            self::assertArrayNotHasKey($name, $second);
        }
    }

    public function testRequestsDoNotShareAKernelAtTheSameTime(): void
    {
        $message = '';
        $runner = null;
        $kernel = new Kernel(static function () use (&$runner, &$message): void {
            self::assertInstanceOf(WorkerRunner::class, $runner);
            try {
                // A second request, while the first one is in the kernel.
                $runner->run();
            } catch (LogicException $error) {
                $message = $error->getMessage();
            }
        });
        $runner = new WorkerRunner($kernel, 1);
        $this->expectOutputString('body ');
        $runner->run();
        self::assertStringContainsString('HOWDAH_KERNEL_PER_REQUEST', $message);
    }

    public function testAnExceptionDoesNotBlockTheKernel(): void
    {
        $fails = true;
        $kernel = new Kernel(static function () use (&$fails): void {
            if ($fails) {
                $fails = false;
                throw new LogicException('failed');
            }
        });
        $runner = new WorkerRunner($kernel, 1);
        try {
            $runner->run();
            self::fail('it throws');
        } catch (LogicException $error) {
            self::assertSame('failed', $error->getMessage());
        }
        $this->expectOutputString('body ');
        $runner->run();
    }

    public function testCopiesOfACacheWouldShareTheKernel(): void
    {
        $cache = new HttpCache(new Kernel(), new Store(sys_get_temp_dir() . '/howdah-runtime-' . getmypid()));
        new WorkerRunner($cache);
        $this->expectException(InvalidArgumentException::class);
        $this->expectExceptionMessage('framework.http_cache');
        new WorkerRunner($cache, 0, true);
    }
}
