<?php

declare(strict_types=1);

namespace Howdah\Psr15\Tests;

use Howdah\Psr15\Emitter;
use Nyholm\Psr7\Response;
use Nyholm\Psr7\Stream;
use PHPUnit\Framework\TestCase;

final class EmitterTest extends TestCase
{
    use Superglobals;

    public function testTheFirstValueReplacesAndCookiesAreAdded(): void
    {
        $response = (new Response(201))
            ->withHeader('X-A', ['1', '2'])
            ->withHeader('set-cookie', ['a=1', 'b=2']);
        (new Emitter())->emit($response);
        self::assertSame(
            [
                ['X-A: 1', true, 0],
                ['X-A: 2', false, 0],
                ['set-cookie: a=1', false, 0],
                ['set-cookie: b=2', false, 0],
                ['HTTP/1.1 201 Created', true, 201],
            ],
            Server::$sent,
        );
    }

    public function testAStatusWithoutAPhraseHasNoSpaceAtItsEnd(): void
    {
        (new Emitter())->emit((new Response())->withStatus(299)->withProtocolVersion('2'));
        self::assertSame([['HTTP/2 299', true, 299]], Server::$sent);
    }

    public function testTheWholeBodyIsSentFromItsStart(): void
    {
        $text = str_repeat('0123456789abcdef', 10_000);
        $body = Stream::create($text);
        $body->seek(100);
        $this->expectOutputString($text);
        (new Emitter())->emit(new Response(200, [], $body));
    }

    public function testABodyThatCannotBeRewoundIsSent(): void
    {
        $pipe = popen('printf text', 'r');
        self::assertIsResource($pipe);
        $this->expectOutputString('text');
        (new Emitter())->emit(new Response(200, [], Stream::create($pipe)));
    }
}
