<?php

declare(strict_types=1);

namespace Howdah\Psr15;

use LogicException;
use Psr\Http\Message\ServerRequestFactoryInterface;
use Psr\Http\Message\ServerRequestInterface;
use Psr\Http\Message\StreamFactoryInterface;
use Psr\Http\Message\UploadedFileFactoryInterface;
use Psr\Http\Message\UploadedFileInterface;

/**
 * Creates PSR-7 requests from the superglobals of the current request, with any PSR-17 factories.
 */
final class Requests
{
    /** Known factories for find(): for requests, streams and uploaded files. */
    private const KNOWN = [
        ['Nyholm\Psr7\Factory\Psr17Factory', 'Nyholm\Psr7\Factory\Psr17Factory', 'Nyholm\Psr7\Factory\Psr17Factory'],
        [
            'Slim\Psr7\Factory\ServerRequestFactory', 'Slim\Psr7\Factory\StreamFactory',
            'Slim\Psr7\Factory\UploadedFileFactory',
        ],
        [
            'Laminas\Diactoros\ServerRequestFactory', 'Laminas\Diactoros\StreamFactory',
            'Laminas\Diactoros\UploadedFileFactory',
        ],
        ['GuzzleHttp\Psr7\HttpFactory', 'GuzzleHttp\Psr7\HttpFactory', 'GuzzleHttp\Psr7\HttpFactory'],
    ];

    public function __construct(
        private readonly ServerRequestFactoryInterface $requests,
        private readonly StreamFactoryInterface $streams,
        private readonly UploadedFileFactoryInterface $files,
    ) {
    }

    /**
     * Uses the factories that are installed.
     *
     * @throws LogicException if none is installed
     */
    public static function find(): self
    {
        foreach (self::KNOWN as [$requests, $streams, $files]) {
            if (class_exists($requests) && class_exists($streams) && class_exists($files)) {
                return new self(new $requests(), new $streams(), new $files());
            }
        }
        throw new LogicException('No PSR-17 factories are installed: composer require nyholm/psr7');
    }

    public function current(): ServerRequestInterface
    {
        $request = $this->requests
            ->createServerRequest(self::server('REQUEST_METHOD', 'GET'), self::uri(), $_SERVER)
            ->withProtocolVersion(substr(self::server('SERVER_PROTOCOL', 'HTTP/1.1'), strlen('HTTP/')))
            ->withQueryParams($_GET)
            ->withCookieParams($_COOKIE)
            ->withUploadedFiles($this->uploads($_FILES))
            ->withBody($this->streams->createStreamFromFile('php://input'));
        foreach (getallheaders() as $name => $value) {
            assert(is_string($value));
            $request = $request->withHeader((string) $name, $value);
        }
        return $_POST === [] ? $request : $request->withParsedBody($_POST);
    }

    private static function uri(): string
    {
        $scheme = in_array(strtolower(self::server('HTTPS', '')), ['', 'off'], true) ? 'http' : 'https';
        $host = self::server('HTTP_HOST', self::server('SERVER_NAME', 'localhost'));
        $target = self::server('REQUEST_URI', '/');
        // `OPTIONS *` has no path.
        return $scheme . '://' . $host . (str_starts_with($target, '/') ? '' : '/') . $target;
    }

    private static function server(string $name, string $default): string
    {
        $value = $_SERVER[$name] ?? null;
        return is_string($value) ? $value : $default;
    }

    /**
     * @param array<mixed> $files in the format of $_FILES
     *
     * @return array<mixed> the same structure with objects
     */
    private function uploads(array $files): array
    {
        $made = [];
        foreach ($files as $field => $file) {
            assert(is_array($file));
            $made[$field] = $this->upload(
                $file['tmp_name'],
                $file['size'],
                $file['error'],
                $file['name'],
                $file['type'],
            );
        }
        return $made;
    }

    /**
     * @return UploadedFileInterface|array<mixed> an array for a field such as `photo[]`
     */
    private function upload(mixed $path, mixed $size, mixed $error, mixed $name, mixed $type): mixed
    {
        if (is_array($path)) {
            // PHP fills all of them in the same structure.
            assert(is_array($size) && is_array($error) && is_array($name) && is_array($type));
            $made = [];
            foreach (array_keys($path) as $key) {
                $made[$key] = $this->upload($path[$key], $size[$key], $error[$key], $name[$key], $type[$key]);
            }
            return $made;
        }
        assert(is_string($path) && is_int($size) && is_int($error) && is_string($name) && is_string($type));
        $stream = $error === UPLOAD_ERR_OK
            ? $this->streams->createStreamFromFile($path)
            : $this->streams->createStream();
        return $this->files->createUploadedFile($stream, $size, $error, $name, $type);
    }
}
