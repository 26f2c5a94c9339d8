<?php

declare(strict_types=1);

namespace Howdah\Octane\Tests;

use Howdah\Octane\Server;
use Laravel\Octane\FrankenPhp\ServerStateFile;
use PHPUnit\Framework\TestCase;
use RuntimeException;

/**
 * The server of an application, whose program is a script that records its arguments.
 */
final class ServerTest extends TestCase
{
    private string $folder = '';

    private string $path = '';

    protected function setUp(): void
    {
        $this->folder = sys_get_temp_dir() . '/howdah-octane-' . getmypid();
        mkdir($this->folder, 0700);
        // An installed `howdah` is not the one of this test.
        $this->path = (string) getenv('PATH');
        putenv('PATH=/usr/bin:/bin');
    }

    protected function tearDown(): void
    {
        putenv("PATH=$this->path");
        foreach (['howdah', 'called', 'state.json'] as $name) {
            @unlink("$this->folder/$name");
        }
        rmdir($this->folder);
    }

    private function install(int $status): void
    {
        $script = "#!/bin/sh\necho \"$*\" >>called\necho 'it does not boot' >&2\nexit $status\n";
        file_put_contents("$this->folder/howdah", $script);
        chmod("$this->folder/howdah", 0700);
    }

    private function server(bool $started = true): Server
    {
        $state = new ServerStateFile("$this->folder/state.json");
        if ($started) {
            $state->writeState(['howdahAdmin' => 'unix//run/a.sock']);
        }
        return new Server($this->folder, $state);
    }

    public function testCommandsGoToTheAddressOfTheServer(): void
    {
        $this->install(0);
        $server = $this->server();
        self::assertTrue($server->serverIsRunning());
        $server->reloadServer();
        self::assertTrue($server->stopServer());
        self::assertSame(
            "status --address unix//run/a.sock\nreload --address unix//run/a.sock\nstop --address unix//run/a.sock\n",
            file_get_contents("$this->folder/called"),
        );
    }

    public function testAReloadThatFailsSaysWhy(): void
    {
        $this->install(1);
        $server = $this->server();
        self::assertFalse($server->serverIsRunning());
        self::assertFalse($server->stopServer());
        $this->expectException(RuntimeException::class);
        $this->expectExceptionMessage('it does not boot');
        $server->reloadServer();
    }

    public function testAServerThatWasNeverStartedIsNotRunning(): void
    {
        $this->install(0);
        $server = $this->server(started: false);
        self::assertFalse($server->serverIsRunning());
        self::assertFalse($server->stopServer());
        self::assertFileDoesNotExist("$this->folder/called");
        $this->expectException(RuntimeException::class);
        $this->expectExceptionMessage('Octane server is not running.');
        $server->reloadServer();
    }

    public function testAMissingProgramIsNamed(): void
    {
        $this->expectException(RuntimeException::class);
        $this->expectExceptionMessage('There is no program `howdah`');
        $this->server()->binary();
    }
}
