<?php

declare(strict_types=1);

namespace Howdah\Octane\Commands;

use Howdah\Octane\Server;
use InvalidArgumentException;
use Laravel\Octane\Commands\Command;
use Laravel\Octane\Commands\Concerns\InteractsWithEnvironmentVariables;
use Laravel\Octane\Commands\Concerns\InteractsWithServers;
use Laravel\Octane\FrankenPhp\ServerStateFile;
use RuntimeException;
use Symfony\Component\Console\Attribute\AsCommand;
use Symfony\Component\Console\Command\SignalableCommandInterface;
use Symfony\Component\Process\Process;

/**
 * Starts the server in the foreground, with the Caddyfile of this package.
 */
#[AsCommand(name: 'octane:howdah')]
final class StartHowdahCommand extends Command implements SignalableCommandInterface
{
    use InteractsWithEnvironmentVariables;
    use InteractsWithServers;

    /** Maximum length of a Unix socket path in bytes. */
    private const SOCKET_PATH_MAX = 107;

    /** @var string */
    public $signature = 'octane:howdah
        {--host= : The IP address the server should bind to}
        {--port= : The port the server should be available on}
        {--admin= : Address of the admin API, HOST:PORT or unix//PATH [default: a socket in storage/framework]}
        {--workers=auto : The number of workers that should be available to handle requests}
        {--max-requests=500 : The number of requests after which a worker is replaced}
        {--caddyfile= : The path to a copy of the Caddyfile of howdah/octane}
        {--https : Serve HTTPS, HTTP/2 and HTTP/3, with certificates that are obtained and renewed automatically}
        {--watch : Reload when the application changes}
        {--log-level= : Print messages from this level on as they are: debug, info, warn or error}';

    /** @var string */
    public $description = 'Start the Octane Howdah server';

    public function handle(Server $server, ServerStateFile $state): int
    {
        if ($server->serverIsRunning()) {
            $this->error('Howdah server is already running.');
            return self::FAILURE;
        }
        $this->ensurePortIsAvailable();
        $this->installWorker();
        $command = [$server->binary(), 'run', '--config', $this->caddyfile()];
        $state->writeState([
            'appName' => config('app.name', 'Laravel'),
            'host' => $this->getHost(),
            'port' => $this->getPort(),
            'howdahAdmin' => $this->adminAddress(),
            'workers' => $this->option('workers'),
            'maxRequests' => $this->option('max-requests'),
            'octaneConfig' => config('octane'),
        ]);
        // Workers read .env themselves, and again at each reload.
        $this->forgetEnvironmentVariables();
        $process = new Process($command, base_path(), $this->environment(), timeout: null);
        $process->start();
        $state->writeProcessId($process->getPid() ?? throw new RuntimeException('The server has not started.'));

        return $this->runServer($process, $server, 'howdah');
    }

    /**
     * @return array<string, string> variables for the Caddyfile and for Octane's worker
     */
    private function environment(): array
    {
        $host = $this->getHost();
        $site = ($this->option('https') ? 'https://' . $host : 'http://') . ':' . $this->getPort();
        $workers = $this->option('workers');
        $seconds = config('octane.max_execution_time', 30);
        $level = $this->option('log-level');
        $paths = $this->option('watch') ? config('octane.watch') : [];
        return [
            'APP_ENV' => self::text($this->laravel->environment()),
            'APP_BASE_PATH' => base_path(),
            'APP_PUBLIC_PATH' => public_path(),
            'LARAVEL_OCTANE' => '1',
            'OCTANE_HOWDAH_ADMIN' => $this->adminAddress(),
            'OCTANE_HOWDAH_SITE' => $site,
            'OCTANE_HOWDAH_HOST' => $host,
            'OCTANE_HOWDAH_WORKERS' => is_numeric($workers) ? 'num ' . $workers : '',
            'OCTANE_HOWDAH_MAX_REQUESTS' => self::text($this->option('max-requests')),
            'OCTANE_HOWDAH_TIMEOUT' => is_numeric($seconds) && $seconds > 0 ? $seconds . 's' : '0',
            'OCTANE_HOWDAH_LOG' => $level !== null || (bool) $this->laravel->environment('local') ? 'log' : '',
            'OCTANE_HOWDAH_LEVEL' => is_string($level) ? $level : 'info',
            'OCTANE_HOWDAH_WATCH' => implode("\n", array_map(
                static fn (mixed $path): string => 'watch "' . self::text($path) . '"',
                is_array($paths) ? array_values($paths) : [],
            )),
        ];
    }

    private function adminAddress(): string
    {
        $address = $this->option('admin');
        if (is_string($address)) {
            return $address;
        }
        $path = storage_path('framework/howdah.sock');
        if (strlen($path) > self::SOCKET_PATH_MAX) {
            throw new InvalidArgumentException(
                "The path of the admin socket is too long ($path): name another address with --admin.",
            );
        }
        return "unix/$path";
    }

    private function caddyfile(): string
    {
        $file = $this->option('caddyfile') ?: dirname(__DIR__, 2) . '/stubs/Caddyfile';
        return realpath(self::text($file))
            ?: throw new InvalidArgumentException('There is no file ' . self::text($file) . '.');
    }

    /**
     * The script must be below the document root, like public/frankenphp-worker.php of Octane's
     * FrankenPHP driver.
     */
    private function installWorker(): void
    {
        $script = public_path('howdah-worker.php');
        if (!is_file($script) && !copy(dirname(__DIR__, 2) . '/stubs/howdah-worker.php', $script)) {
            throw new RuntimeException("$script could not be written.");
        }
    }

    /**
     * The server itself watches files, with `watch` in the Caddyfile.
     */
    protected function startServerWatcher(): object
    {
        return new class {
            public function isRunning(): bool
            {
                return false;
            }

            public function isTerminated(): bool
            {
                return false;
            }
        };
    }

    /**
     * @param Process $server
     */
    protected function writeServerOutput($server): void
    {
        $printed = $server->getIncrementalErrorOutput() . $server->getIncrementalOutput();
        $server->clearOutput()->clearErrorOutput();
        foreach (array_filter(explode("\n", $printed)) as $line) {
            $event = json_decode($line, true);
            if ($this->option('log-level') !== null || !is_array($event)) {
                $this->output->writeln($line);
            } else {
                $this->writeEvent($event);
            }
        }
    }

    /**
     * @param array<array-key, mixed> $event
     */
    private function writeEvent(array $event): void
    {
        $message = self::text($event['msg'] ?? null);
        // Output of dd(), dump() and exceptions in Octane.
        $stream = json_decode($message, true);
        $request = $event['request'] ?? null;
        match (true) {
            is_array($stream) && isset($stream['type']) => $this->handleStream($stream),
            $message === 'handled request' && is_array($request) => $this->requestInfo([
                'method' => $request['method'] ?? '',
                'url' => $request['uri'] ?? '/',
                'statusCode' => $event['status'] ?? 0,
                'duration' => 1000 * (is_numeric($event['duration'] ?? null) ? (float) $event['duration'] : 0.0),
            ]),
            ($event['level'] ?? null) === 'info' => null,
            ($event['level'] ?? null) === 'warn' => $this->warn($message),
            default => $this->error($message),
        };
    }

    protected function stopServer(): void
    {
        $this->callSilent('octane:stop', ['--server' => 'howdah']);
    }

    private static function text(mixed $value): string
    {
        return is_scalar($value) ? (string) $value : '';
    }
}
