<?php

declare(strict_types=1);

namespace Howdah\Runtime\Tests;

use Howdah\Runtime\Runtime;
use Howdah\Runtime\WorkerRunner;
use InvalidArgumentException;
use PHPUnit\Framework\TestCase;
use ReflectionProperty;
use Symfony\Component\HttpFoundation\Response;

final class RuntimeTest extends TestCase
{
    /** @var array<mixed> */
    private array $saved = [];

    protected function setUp(): void
    {
        $this->saved = [$_SERVER, $_ENV];
        unset($_SERVER['FRANKENPHP_WORKER']);
    }

    protected function tearDown(): void
    {
        [$_SERVER, $_ENV] = $this->saved;
    }

    /**
     * @param array<string, mixed> $options
     */
    private static function runtime(array $options = []): Runtime
    {
        return new Runtime($options + [
            'disable_dotenv' => true, 'error_handler' => false, 'project_dir' => __DIR__,
        ]);
    }

    /**
     * @return array{mixed, mixed} its limit of requests, and whether it copies the kernel
     */
    private static function settings(Runtime $runtime): array
    {
        $_SERVER['FRANKENPHP_WORKER'] = '1';
        $runner = $runtime->getRunner(new Kernel());
        self::assertInstanceOf(WorkerRunner::class, $runner);
        return [
            (new ReflectionProperty($runner, 'maxRequests'))->getValue($runner),
            (new ReflectionProperty($runner, 'kernelPerRequest'))->getValue($runner),
        ];
    }

    public function testOnlyAWorkerHasALoop(): void
    {
        self::assertNotInstanceOf(WorkerRunner::class, self::runtime()->getRunner(new Kernel()));
        $_SERVER['FRANKENPHP_WORKER'] = '1';
        self::assertInstanceOf(WorkerRunner::class, self::runtime()->getRunner(new Kernel()));
        self::assertInstanceOf(WorkerRunner::class, self::runtime()->getRunner(new Response()));
        self::assertNotInstanceOf(WorkerRunner::class, self::runtime()->getRunner(null));
    }

    public function testOptionsOverrideVariables(): void
    {
        self::assertSame([0, false], self::settings(self::runtime()));
        $_SERVER['FRANKENPHP_LOOP_MAX'] = '7';
        $_ENV['HOWDAH_KERNEL_PER_REQUEST'] = '1';
        self::assertSame([7, true], self::settings(self::runtime()));
        $options = ['worker_loop_max' => 3, 'kernel_per_request' => false];
        self::assertSame([3, false], self::settings(self::runtime($options)));
    }

    public function testSymfonysNameOfTheVariableWorks(): void
    {
        $_SERVER['FRANKENPHP_RESET_KERNEL'] = '1';
        self::assertSame([0, true], self::settings(self::runtime()));
        $_SERVER['HOWDAH_KERNEL_PER_REQUEST'] = '0';
        self::assertSame([0, false], self::settings(self::runtime()));
    }

    public function testANegativeLimitIsNone(): void
    {
        self::assertSame([0, false], self::settings(self::runtime(['worker_loop_max' => -1])));
    }

    public function testInvalidOptionsAreNamed(): void
    {
        foreach (['worker_loop_max' => 'many', 'kernel_per_request' => 'perhaps'] as $name => $value) {
            try {
                self::runtime([$name => $value]);
                self::fail("$name: it is invalid");
            } catch (InvalidArgumentException $error) {
                self::assertStringContainsString($name, $error->getMessage());
            }
        }
    }
}
