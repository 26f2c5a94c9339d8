<?php

declare(strict_types=1);

namespace Caravan\Http;

use Closure;

/**
 * What goes back to the client. The body is text, or a closure that prints it piece by piece.
 */
final class Response
{
    /**
     * @param array<string, string> $headers
     * @param string|Closure(): void $body
     */
    private function __construct(
        public readonly int $status,
        private array $headers,
        private readonly string|Closure $body,
    ) {
    }

    public static function html(string $body, int $status = 200): self
    {
        return new self($status, [
            'Content-Type' => 'text/html; charset=utf-8',
            'Cache-Control' => 'private, no-cache',
        ], $body);
    }

    /**
     * @param array<mixed> $data
     */
    public static function json(array $data, int $status = 200): self
    {
        $flags = JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE | JSON_PRETTY_PRINT;
        return new self($status, [
            'Content-Type' => 'application/json; charset=utf-8',
            'Cache-Control' => 'no-cache',
        ], json_encode($data, $flags) . "\n");
    }

    /**
     * Sends a browser that posted a form to a page, so that a reload does not post it again.
     */
    public static function seeOther(string $path): self
    {
        return new self(303, ['Location' => $path, 'Cache-Control' => 'no-store'], '');
    }

    /**
     * A body that is printed piece by piece and leaves the server with every flush().
     *
     * @param Closure(): void $body
     */
    public static function stream(Closure $body): self
    {
        return new self(200, [
            'Content-Type' => 'text/html; charset=utf-8',
            'Cache-Control' => 'no-store',
            // nginx collects what php-fpm flushes unless a header disables that.
            'X-Accel-Buffering' => 'no',
        ], $body);
    }

    /**
     * A body that may be kept by caches. Answers 304 when the client already has this version.
     *
     * @param string|Closure(): void $body
     */
    public static function cacheable(
        Request $request,
        string $type,
        string $etag,
        string $cacheControl,
        string|Closure $body,
    ): self {
        $headers = ['ETag' => "\"$etag\"", 'Cache-Control' => $cacheControl];
        foreach (explode(',', $request->server('HTTP_IF_NONE_MATCH')) as $known) {
            $known = trim($known);
            // A server that compresses makes the tag a weak one, some add a suffix such as "-gzip" to it.
            if ($known === '*' || str_starts_with(preg_replace('/^W\//', '', $known) ?? '', "\"$etag")) {
                return new self(304, $headers, '');
            }
        }
        return new self(200, $headers + ['Content-Type' => $type], $body);
    }

    public function with(string $header, string $value): self
    {
        $copy = clone $this;
        $copy->headers[$header] = $value;
        return $copy;
    }

    public function send(Request $request): void
    {
        http_response_code($this->status);
        foreach ($this->headers + self::security() as $name => $value) {
            header("$name: $value");
        }
        header(sprintf('Server-Timing: php;dur=%.2f;desc="time in PHP"', $request->elapsed() * 1000));
        if (is_string($this->body)) {
            echo $this->body;
        } elseif (!$request->isHead()) {
            ($this->body)();
        }
    }

    /**
     * Nothing inline, nothing from elsewhere: a script that slipped into a page would not run.
     *
     * @return array<string, string>
     */
    private static function security(): array
    {
        return [
            'Content-Security-Policy' => "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
                . "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
            'X-Content-Type-Options' => 'nosniff',
            'Referrer-Policy' => 'same-origin',
            'Permissions-Policy' => 'camera=(), geolocation=(), microphone=()',
        ];
    }
}
