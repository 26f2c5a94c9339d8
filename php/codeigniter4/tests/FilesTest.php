<?php

declare(strict_types=1);

namespace Howdah\CodeIgniter4\Tests;

use Howdah\CodeIgniter4\Commands\Files;
use PHPUnit\Framework\TestCase;

final class FilesTest extends TestCase
{
    private const NAMES = ['public/frankenphp-worker.php', 'Caddyfile'];

    private string $folder = '';

    protected function setUp(): void
    {
        $this->folder = sys_get_temp_dir() . '/howdah-codeigniter4-' . getmypid() . '/';
        mkdir($this->folder . 'public', 0700, true);
    }

    protected function tearDown(): void
    {
        foreach (self::NAMES as $name) {
            @unlink($this->folder . $name);
        }
        @rmdir($this->folder . 'public');
        @rmdir($this->folder);
    }

    public function testWrittenFilesAreUnchangedUntilSomebodyChangesThem(): void
    {
        $files = new Files($this->folder);
        self::assertSame([], $files->existing());
        self::assertSame(array_fill_keys(self::NAMES, true), $files->write());
        self::assertSame(self::NAMES, $files->existing());
        self::assertSame([], $files->changed());
        file_put_contents($this->folder . 'Caddyfile', '# mine');
        self::assertSame(['Caddyfile'], $files->changed());
        self::assertTrue($files->remove('Caddyfile'));
        self::assertSame(['public/frankenphp-worker.php'], $files->existing());
    }

    public function testTheScriptRunsTheWorkerOfThisPackage(): void
    {
        (new Files($this->folder))->write();
        $script = (string) file_get_contents($this->folder . self::NAMES[0]);
        self::assertStringContainsString('Howdah\CodeIgniter4\Worker::run(new Config\Paths());', $script);
        exec(escapeshellarg(PHP_BINARY) . ' -l ' . escapeshellarg($this->folder . self::NAMES[0]), $output, $status);
        self::assertSame(0, $status, implode("\n", $output));
    }

    public function testAFileThatCannotBeWrittenIsReported(): void
    {
        rmdir($this->folder . 'public');
        $written = (new Files($this->folder))->write();
        self::assertSame(['public/frankenphp-worker.php' => false, 'Caddyfile' => true], $written);
    }
}
