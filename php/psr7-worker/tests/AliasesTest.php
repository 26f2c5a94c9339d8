<?php

declare(strict_types=1);

namespace Howdah\Psr7Worker\Tests;

use PHPUnit\Framework\TestCase;

/**
 * The names of RoadRunner's classes, each time in a process of its own.
 */
final class AliasesTest extends TestCase
{
    private const NAMES = [
        'Spiral\RoadRunner\WorkerInterface', 'Spiral\RoadRunner\Worker', 'Spiral\RoadRunner\Http\HttpWorker',
        'Spiral\RoadRunner\Http\PSR7WorkerInterface', 'Spiral\RoadRunner\Http\PSR7Worker',
    ];

    /**
     * @param array<string, string> $server
     */
    private static function known(array $server): string
    {
        $code = '$_SERVER = ' . var_export($server, true) . ' + $_SERVER; '
            . 'require ' . var_export(__DIR__ . '/bootstrap.php', true) . '; '
            . 'require_once ' . var_export(dirname(__DIR__) . '/src/aliases.php', true) . '; '
            . 'foreach (' . var_export(self::NAMES, true) . ' as $name) { '
            . 'echo (int) (class_exists($name, false) || interface_exists($name, false)); }';
        return (string) shell_exec(escapeshellarg(PHP_BINARY) . ' -r ' . escapeshellarg($code));
    }

    public function testAWorkerOfThisServerHasThem(): void
    {
        self::assertSame('11111', self::known(['FRANKENPHP_WORKER' => '1']));
    }

    public function testAWorkerOfRoadRunnerDoesNot(): void
    {
        self::assertSame('00000', self::known(['FRANKENPHP_WORKER' => '1', 'RR_MODE' => 'http']));
    }

    public function testOtherScriptsDoNot(): void
    {
        self::assertSame('00000', self::known([]));
    }
}
