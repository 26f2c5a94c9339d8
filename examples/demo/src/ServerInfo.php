<?php

declare(strict_types=1);

namespace Caravan;

/**
 * Information about the server that runs PHP. Only existing functions are called, so that the page is
 * the same under Howdah, php-fpm and PHP's built-in server.
 */
final class ServerInfo
{
    public function __construct(private readonly App $app)
    {
    }

    /**
     * @return list<array{label: string, value: string, note: string}>
     */
    public function facts(): array
    {
        $request = $this->app->request;
        $worker = $this->app->served !== null;
        return array_values(array_filter([
            $this->fact('Server', $request->server('SERVER_SOFTWARE', 'unknown'), 'SERVER_SOFTWARE'),
            $this->fact('PHP', PHP_VERSION, (PHP_ZTS ? 'thread-safe' : 'not thread-safe') . ', SAPI ' . PHP_SAPI),
            $this->fact('Mode', $worker ? 'worker' : 'classic', $worker
                ? 'booted once, kept between requests'
                : 'a fresh start for every request'),
            $this->fact('Worker', 'pid ' . (int) getmypid(), 'the process that made this page'),
            $this->served(),
            $this->requestId(),
            $this->opcache(),
            $this->fact('Memory', self::megabytes(memory_get_peak_usage()), 'at its peak, in this request'),
            $this->fact('Protocol', $request->server('SERVER_PROTOCOL', 'unknown'), $request->isHttps()
                ? 'encrypted'
                : 'not encrypted'),
        ]));
    }

    /**
     * @return array{label: string, value: string, note: string}|null
     */
    private function served(): ?array
    {
        if ($this->app->served !== null) {
            return $this->fact('Requests', number_format($this->app->served), 'served by this worker since its boot');
        }
        // Nothing of the application outlives a request in classic mode; php-fpm keeps the count itself.
        $status = function_exists('fpm_get_status') ? fpm_get_status() : false;
        $processes = is_array($status) && is_array($status['procs'] ?? null) ? $status['procs'] : [];
        foreach ($processes as $process) {
            $requests = is_array($process) && ($process['pid'] ?? null) === getmypid() ? $process['requests'] : null;
            if (is_int($requests)) {
                return $this->fact('Requests', number_format($requests), 'served by this worker');
            }
        }
        return null;
    }

    /**
     * @return array{label: string, value: string, note: string}|null
     */
    private function requestId(): ?array
    {
        $id = function_exists('howdah_request_id') ? howdah_request_id() : null;
        return is_string($id) ? $this->fact('Request', $id, 'the same number as in the access log') : null;
    }

    /**
     * @return array{label: string, value: string, note: string}
     */
    private function opcache(): array
    {
        // The status may be refused by opcache.restrict_api, with a warning.
        $status = function_exists('opcache_get_status') ? @opcache_get_status(false) : false;
        // With opcache.file_cache_only there are no statistics either.
        if (!is_array($status) || !isset($status['opcache_statistics'], $status['jit'])) {
            return $this->fact('OPcache', 'off', 'no shared memory for compiled files');
        }
        $statistics = $status['opcache_statistics'];
        return $this->fact(
            'OPcache',
            sprintf('%.1f %% hits', $statistics['opcache_hit_rate']),
            sprintf('%d scripts kept, JIT %s', $statistics['num_cached_scripts'], $status['jit']['on'] ? 'on' : 'off'),
        );
    }

    /**
     * @return array{label: string, value: string, note: string}
     */
    private function fact(string $label, string $value, string $note): array
    {
        return ['label' => $label, 'value' => $value, 'note' => $note];
    }

    private static function megabytes(int $bytes): string
    {
        return sprintf('%.2f MB', $bytes / 1024 / 1024);
    }
}
