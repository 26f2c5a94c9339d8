<?php

/**
 * Classes of libraries that are not installed with the server's dependencies, as far as the packages use them, for static
 * analysis. Never loaded at run time.
 */

declare(strict_types=1);

namespace Psr\Http\Server {
    use Psr\Http\Message\ResponseInterface;
    use Psr\Http\Message\ServerRequestInterface;

    interface RequestHandlerInterface
    {
        public function handle(ServerRequestInterface $request): ResponseInterface;
    }
}

namespace GuzzleHttp\Psr7 {
    use LogicException;
    use Psr\Http\Message\ServerRequestFactoryInterface;
    use Psr\Http\Message\ServerRequestInterface;
    use Psr\Http\Message\StreamFactoryInterface;
    use Psr\Http\Message\StreamInterface;
    use Psr\Http\Message\UploadedFileFactoryInterface;
    use Psr\Http\Message\UploadedFileInterface;

    final class HttpFactory implements
        ServerRequestFactoryInterface,
        StreamFactoryInterface,
        UploadedFileFactoryInterface
    {
        public function createServerRequest(string $method, $uri, array $serverParams = []): ServerRequestInterface
        {
            throw new LogicException();
        }

        public function createStream(string $content = ''): StreamInterface
        {
            throw new LogicException();
        }

        public function createStreamFromFile(string $filename, string $mode = 'r'): StreamInterface
        {
            throw new LogicException();
        }

        public function createStreamFromResource($resource): StreamInterface
        {
            throw new LogicException();
        }

        public function createUploadedFile(
            StreamInterface $stream,
            ?int $size = null,
            int $error = UPLOAD_ERR_OK,
            ?string $clientFilename = null,
            ?string $clientMediaType = null,
        ): UploadedFileInterface {
            throw new LogicException();
        }
    }
}

namespace Laminas\Diactoros {
    use LogicException;
    use Psr\Http\Message\ServerRequestFactoryInterface;
    use Psr\Http\Message\ServerRequestInterface;
    use Psr\Http\Message\StreamFactoryInterface;
    use Psr\Http\Message\StreamInterface;
    use Psr\Http\Message\UploadedFileFactoryInterface;
    use Psr\Http\Message\UploadedFileInterface;

    final class ServerRequestFactory implements ServerRequestFactoryInterface
    {
        public function createServerRequest(string $method, $uri, array $serverParams = []): ServerRequestInterface
        {
            throw new LogicException();
        }
    }

    final class StreamFactory implements StreamFactoryInterface
    {
        public function createStream(string $content = ''): StreamInterface
        {
            throw new LogicException();
        }

        public function createStreamFromFile(string $filename, string $mode = 'r'): StreamInterface
        {
            throw new LogicException();
        }

        public function createStreamFromResource($resource): StreamInterface
        {
            throw new LogicException();
        }
    }

    final class UploadedFileFactory implements UploadedFileFactoryInterface
    {
        public function createUploadedFile(
            StreamInterface $stream,
            ?int $size = null,
            int $error = UPLOAD_ERR_OK,
            ?string $clientFilename = null,
            ?string $clientMediaType = null,
        ): UploadedFileInterface {
            throw new LogicException();
        }
    }
}
