<?php

declare(strict_types=1);

// The reference: a worker script with nothing around it. BENCH_SCRIPT, BENCH_URI and BENCH_SECONDS say what to run.
// There are as many processes of it at a time as a server has for PHP. A fifth of the time is warm-up. Prints what was
// counted in the rest as JSON.
// For php-cgi: frameworks take the command line's PHP for a command.
final class Loop
{
    private const WARM_UP = 0.2;
    private const CALLS = 10;
    // Of the time, for this process: there are several.
    private const SHARE = 0.125;
    public int $calls = 0;
    public ?string $first = null;
    public string $last = '';
    private float $cpu = 0.0;
    private readonly int $begun;
    private int $end;
    private int $more = 2;
    private int $counted = 0;

    public function __construct(float $seconds)
    {
        $this->begun = hrtime(true);
        $this->end = $this->begun + (int) ($seconds * 1e9);
    }

    public function served(string $body): bool
    {
        $this->first ??= $body;
        $this->last = $body;
        $now = hrtime(true);
        if ($this->counted === 0) {
            if ($now - $this->begun >= self::WARM_UP * ($this->end - $this->begun)) {
                $this->counted = $now;
                $this->cpu = self::cpu();
            }

            return true;
        }
        ++$this->calls;
        if ($now < $this->end || $this->calls < self::CALLS) {
            return true;
        }
        // On a busy machine most of the time may have been others'.
        if ($this->more > 0 && self::cpu() - $this->cpu < self::SHARE * ($now - $this->counted) / 1e9) {
            --$this->more;
            $this->end = $now + ($now - $this->counted);

            return true;
        }

        return false;
    }

    public function result(): array
    {
        return [
            'calls' => $this->calls,
            'cpu_seconds' => self::cpu() - $this->cpu,
            'seconds' => (hrtime(true) - $this->counted) / 1e9,
            'first_sha256' => hash('sha256', (string) $this->first),
            'last_sha256' => hash('sha256', $this->last),
            'opcache' => (bool) (opcache_get_status(false)['opcache_enabled'] ?? false),
        ];
    }

    private static function cpu(): float
    {
        $used = getrusage();

        return $used['ru_utime.tv_sec'] + $used['ru_stime.tv_sec']
            + ($used['ru_utime.tv_usec'] + $used['ru_stime.tv_usec']) / 1e6;
    }
}

function frankenphp_handle_request(callable $handler): bool
{
    // CodeIgniter ends all buffers before its work, Symfony behind it those that can be flushed.
    ob_start(null, 0, PHP_OUTPUT_HANDLER_CLEANABLE | PHP_OUTPUT_HANDLER_REMOVABLE);
    $handler();
    $body = '';
    while (ob_get_level() > 0) {
        $body = ob_get_clean().$body;
    }
    header_remove();

    return $GLOBALS['loop']->served($body);
}

[$script, $uri, $seconds] = [getenv('BENCH_SCRIPT'), getenv('BENCH_URI'), getenv('BENCH_SECONDS')];
$loop = new Loop((float) $seconds);
parse_str((string) parse_url($uri, PHP_URL_QUERY), $_GET);
$_SERVER = [
    'FRANKENPHP_WORKER' => '1',
    'REQUEST_METHOD' => 'GET',
    'REQUEST_URI' => $uri,
    'QUERY_STRING' => (string) parse_url($uri, PHP_URL_QUERY),
    'SCRIPT_NAME' => '/index.php',
    'SCRIPT_FILENAME' => $script,
    'PHP_SELF' => '/index.php',
    'SERVER_PROTOCOL' => 'HTTP/1.1',
    'SERVER_NAME' => '127.0.0.1',
    'SERVER_PORT' => '80',
    'HTTP_HOST' => '127.0.0.1',
    'REMOTE_ADDR' => '127.0.0.1',
    'DOCUMENT_ROOT' => dirname($script),
    'REQUEST_TIME' => time(),
    'REQUEST_TIME_FLOAT' => microtime(true),
] + $_SERVER;
require $script;
while (ob_get_level() > 0) {
    ob_end_clean();
}
// Behind the headers of php-cgi.
echo "\n", json_encode($loop->result(), JSON_THROW_ON_ERROR), "\n";
