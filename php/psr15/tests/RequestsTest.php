<?php

declare(strict_types=1);

namespace Howdah\Psr15\Tests;

use Howdah\Psr15\Requests;
use Nyholm\Psr7\Factory\Psr17Factory;
use PHPUnit\Framework\TestCase;
use Psr\Http\Message\ServerRequestInterface;
use Psr\Http\Message\UploadedFileInterface;

final class RequestsTest extends TestCase
{
    use Superglobals;

    /**
     * @param array<string, string> $server
     */
    private static function request(array $server = []): ServerRequestInterface
    {
        $_SERVER = $server + ['REQUEST_METHOD' => 'GET', 'REQUEST_URI' => '/', 'HTTP_HOST' => 'localhost'] + $_SERVER;
        $factory = new Psr17Factory();
        return (new Requests($factory, $factory, $factory))->current();
    }

    public function testARequestHasMethodTargetAndProtocol(): void
    {
        $server = ['REQUEST_METHOD' => 'PUT', 'REQUEST_URI' => '/a%20b?c=1', 'HTTP_HOST' => 'shop.test:8080'];
        $request = self::request($server + ['SERVER_PROTOCOL' => 'HTTP/2.0']);
        self::assertSame('PUT', $request->getMethod());
        self::assertSame('http://shop.test:8080/a%20b?c=1', (string) $request->getUri());
        self::assertSame('/a%20b?c=1', $request->getRequestTarget());
        self::assertSame('2.0', $request->getProtocolVersion());
        self::assertSame('PUT', $request->getServerParams()['REQUEST_METHOD']);
    }

    public function testTheSchemeDependsOnHttps(): void
    {
        $schemes = ['on' => 'https', '1' => 'https', 'off' => 'http', 'OFF' => 'http', '' => 'http'];
        foreach ($schemes as $value => $scheme) {
            self::assertSame($scheme, self::request(['HTTPS' => (string) $value])->getUri()->getScheme());
        }
    }

    public function testATargetWithoutAPathIsAccepted(): void
    {
        $request = self::request(['REQUEST_METHOD' => 'OPTIONS', 'REQUEST_URI' => '*']);
        self::assertSame('http://localhost/*', (string) $request->getUri());
    }

    public function testTheServerNameReplacesAMissingHost(): void
    {
        $_SERVER['SERVER_NAME'] = 'by-name.test';
        unset($_SERVER['HTTP_HOST']);
        $factory = new Psr17Factory();
        $request = (new Requests($factory, $factory, $factory))->current();
        self::assertSame('by-name.test', $request->getUri()->getHost());
    }

    public function testHeaderFieldsCookiesAndQueryAreThoseOfTheRequest(): void
    {
        Server::$fields = ['X-Who' => 'me', 'Content-Type' => 'text/plain', '123' => 'a number'];
        $_GET = ['a' => ['b' => 'c']];
        $_COOKIE = ['d' => 'e f'];
        $request = self::request();
        self::assertSame('me', $request->getHeaderLine('x-who'));
        self::assertSame('text/plain', $request->getHeaderLine('Content-Type'));
        self::assertSame('a number', $request->getHeaderLine('123'));
        self::assertSame(['a' => ['b' => 'c']], $request->getQueryParams());
        self::assertSame(['d' => 'e f'], $request->getCookieParams());
    }

    public function testOnlyAFormHasAParsedBody(): void
    {
        self::assertNull(self::request()->getParsedBody());
        $_POST = ['a' => '1'];
        self::assertSame(['a' => '1'], self::request()->getParsedBody());
    }

    public function testUploadsHaveTheStructureOfTheForm(): void
    {
        $path = (string) tempnam(sys_get_temp_dir(), 'howdah');
        file_put_contents($path, 'content');
        $_FILES = [
            'one' => ['name' => 'a.txt', 'type' => 'text/plain', 'tmp_name' => $path, 'error' => 0, 'size' => 7],
            'many' => [
                'name' => ['x' => ['b.txt'], 'y' => ''],
                'type' => ['x' => ['text/csv'], 'y' => ''],
                'tmp_name' => ['x' => [$path], 'y' => ''],
                'error' => ['x' => [0], 'y' => UPLOAD_ERR_NO_FILE],
                'size' => ['x' => [7], 'y' => 0],
            ],
        ];
        $files = self::request()->getUploadedFiles();
        unlink($path);
        $one = $files['one'];
        self::assertInstanceOf(UploadedFileInterface::class, $one);
        self::assertSame('content', (string) $one->getStream());
        self::assertSame(['a.txt', 'text/plain', 7, 0], self::facts($one));
        self::assertSame(['b.txt', 'text/csv', 7, 0], self::facts($files['many']['x'][0]));
        self::assertSame(UPLOAD_ERR_NO_FILE, $files['many']['y']->getError());
    }

    /**
     * @return list<mixed>
     */
    private static function facts(UploadedFileInterface $file): array
    {
        return [$file->getClientFilename(), $file->getClientMediaType(), $file->getSize(), $file->getError()];
    }

    public function testInstalledFactoriesAreFound(): void
    {
        $_SERVER['REQUEST_METHOD'] = 'GET';
        self::assertSame('GET', Requests::find()->current()->getMethod());
    }
}
