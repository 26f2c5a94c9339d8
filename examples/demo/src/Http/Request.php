<?php

declare(strict_types=1);

namespace Caravan\Http;

use Caravan\Typed;

/**
 * One request, read once from the superglobals, so that nothing else in the application touches them.
 */
final class Request
{
    /**
     * @param array<mixed> $query
     * @param array<mixed> $form
     * @param array<mixed> $files
     * @param array<mixed> $server
     * @param array<mixed> $cookies
     */
    public function __construct(
        public readonly string $method,
        public readonly string $path,
        private readonly array $query,
        private readonly array $form,
        private readonly array $files,
        private readonly array $server,
        private readonly array $cookies,
    ) {
    }

    public static function fromGlobals(): self
    {
        $target = Typed::text($_SERVER, 'REQUEST_URI', '/');
        return new self(
            Typed::text($_SERVER, 'REQUEST_METHOD', 'GET'),
            rawurldecode(explode('?', $target, 2)[0]),
            $_GET,
            $_POST,
            $_FILES,
            $_SERVER,
            $_COOKIE,
        );
    }

    /**
     * Whether the client requests no body: the page is rendered nevertheless, since its headers depend on it.
     */
    public function isHead(): bool
    {
        return $this->method === 'HEAD';
    }

    public function isPost(): bool
    {
        return $this->method === 'POST';
    }

    public function query(string $name, string $default = ''): string
    {
        return Typed::text($this->query, $name, $default);
    }

    /**
     * A whole number from the query, moved into the range; the default when it is not a number.
     */
    public function queryInt(string $name, int $default, int $min, int $max): int
    {
        $value = filter_var($this->query($name), FILTER_VALIDATE_INT);
        return $value === false ? $default : max($min, min($max, $value));
    }

    /**
     * A form field without the white space around it and with Unix line ends.
     */
    public function field(string $name): string
    {
        return trim(strtr(Typed::text($this->form, $name), ["\r\n" => "\n"]));
    }

    /**
     * A form field exactly as it came, for passwords.
     */
    public function rawField(string $name): string
    {
        return Typed::text($this->form, $name);
    }

    /**
     * An uploaded file, or null when the field was left empty.
     */
    public function upload(string $name): ?Upload
    {
        $file = $this->files[$name] ?? null;
        return is_array($file) ? Upload::fromArray($file) : null;
    }

    /**
     * PHP throws the whole form away when the body is larger than post_max_size.
     */
    public function formWasTooLarge(): bool
    {
        return $this->isPost() && $this->form === [] && (int) $this->server('CONTENT_LENGTH') > 0
            && str_starts_with($this->server('CONTENT_TYPE'), 'multipart/form-data');
    }

    public function server(string $name, string $default = ''): string
    {
        return Typed::text($this->server, $name, $default);
    }

    public function cookie(string $name): string
    {
        return Typed::text($this->cookies, $name);
    }

    public function isHttps(): bool
    {
        return !in_array(strtolower($this->server('HTTPS')), ['', 'off'], true);
    }

    /**
     * Seconds since the server handed the request to PHP.
     */
    public function elapsed(): float
    {
        $start = $this->server['REQUEST_TIME_FLOAT'] ?? null;
        return is_float($start) ? max(0.0, microtime(true) - $start) : 0.0;
    }
}
