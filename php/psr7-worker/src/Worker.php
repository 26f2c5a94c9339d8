<?php

declare(strict_types=1);

namespace Howdah\Psr7Worker;

/**
 * The process and the request that it handles.
 */
final class Worker implements WorkerInterface
{
    private readonly RequestLoop $loop;

    private bool $stops = false;

    private bool $responded = true;

    /** Output buffer level outside of requests. */
    private int $level = 0;

    /**
     * @param bool $interceptSideEffects whether to log output of the script instead of sending it before the response
     */
    public function __construct(private readonly bool $interceptSideEffects = true)
    {
        $this->loop = new RequestLoop();
    }

    public static function create(bool $interceptSideEffects = true): self
    {
        return new self($interceptSideEffects);
    }

    public function error(string $error): void
    {
        error_log($error);
        if (!$this->responded) {
            $this->begin();
            http_response_code(500);
            $this->finish();
        }
    }

    public function stop(): void
    {
        $this->stops = true;
    }

    /**
     * Waits for a request and sets its superglobals.
     *
     * @return bool false if the script must exit
     */
    public function wait(): bool
    {
        if (!$this->responded) {
            $this->error('The script has not responded to ' . self::server('REQUEST_METHOD', 'a request') . ' '
                . self::server('REQUEST_URI', ''));
        }
        $this->discardOutput();
        if ($this->stops || !$this->loop->next()) {
            return false;
        }
        $this->responded = false;
        $this->level = ob_get_level();
        if ($this->interceptSideEffects) {
            ob_start(static function (string $printed): string {
                if (trim($printed) !== '') {
                    error_log($printed);
                }
                return '';
            });
        }
        return true;
    }

    /**
     * Before the header fields of a response: discards output and header fields that the script has
     * set itself.
     */
    public function begin(): void
    {
        $this->discardOutput();
        header_remove();
    }

    /**
     * The response is complete, and the script may continue without its client.
     */
    public function finish(): void
    {
        $this->responded = true;
        if (function_exists('fastcgi_finish_request')) {
            fastcgi_finish_request();
        }
    }

    private function discardOutput(): void
    {
        while (ob_get_level() > $this->level && $this->interceptSideEffects) {
            ob_end_flush();
        }
    }

    private static function server(string $name, string $default): string
    {
        $value = $_SERVER[$name] ?? null;
        return is_string($value) ? $value : $default;
    }
}
