<?php

declare(strict_types=1);

namespace Howdah\Psr7Worker\Tests;

use Generator;
use Howdah\Psr7Worker\HttpWorker;
use Howdah\Psr7Worker\Worker;
use InvalidArgumentException;
use PHPUnit\Framework\TestCase;

final class HttpWorkerTest extends TestCase
{
    use Script;

    private function worker(): HttpWorker
    {
        Server::$requests = ['/a'];
        $worker = new Worker();
        $worker->wait();
        return new HttpWorker($worker);
    }

    public function testAResponseHasStatusFieldsAndBody(): void
    {
        $this->expectOutputString('text');
        $this->worker()->respond(404, 'text', ['X-A' => ['1', '2'], 'X-B' => '3', 'Set-Cookie' => ['a=1', 'b=2']]);
        self::assertSame(
            [
                ['header_remove'],
                ['header', 'X-A: 1'],
                ['header_add', 'X-A: 2'],
                ['header', 'X-B: 3'],
                ['header_add', 'Set-Cookie: a=1'],
                ['header_add', 'Set-Cookie: b=2'],
                ['status', 404],
                ['finish'],
            ],
            Server::$calls,
        );
    }

    public function testEachPartOfAGeneratorIsSentAndItsReturnValue(): void
    {
        $this->expectOutputString('one 2 end');
        $parts = static function (): Generator {
            yield 'one ';
            yield 2;
            return ' end';
        };
        $this->worker()->respond(200, $parts());
    }

    public function testAnInterimResponseKeepsTheFinalOne(): void
    {
        $worker = $this->worker();
        $worker->respond(103, headers: ['Link' => ['</a.css>; rel=preload']]);
        self::assertSame(
            [['header_remove'], ['header', 'Link: </a.css>; rel=preload'], ['send', 103], ['header_remove']],
            Server::$calls,
        );
        $this->expectOutputString('page');
        $worker->respond(200, 'page');
        self::assertContains(['status', 200], Server::$calls);
    }

    public function testAnInterimResponseHasNoBody(): void
    {
        $worker = $this->worker();
        try {
            $worker->respond(103, 'text');
            self::fail('it has a body');
        } catch (InvalidArgumentException $error) {
            self::assertStringContainsString('no body', $error->getMessage());
        }
        $worker->respond(204);
    }

    public function testABodyMayComeInSeveralCalls(): void
    {
        $this->expectOutputString('onetwo');
        $worker = $this->worker();
        $worker->respond(200, 'one', endOfStream: false);
        self::assertNotContains(['finish'], Server::$calls);
        Server::$begun = true;
        $worker->respond(500, 'two', ['X-Late' => 'a']);
        self::assertSame([['header_remove'], ['status', 200], ['finish']], Server::$calls);
    }
}
