<?php

declare(strict_types=1);

namespace Howdah\Psr7Worker\Tests;

use Howdah\Psr7Worker\PSR7Worker;
use Howdah\Psr7Worker\Worker;
use Nyholm\Psr7\Factory\Psr17Factory;
use Nyholm\Psr7\Response;
use Nyholm\Psr7\Stream;
use PHPUnit\Framework\TestCase;

final class PSR7WorkerTest extends TestCase
{
    use Script;

    private static function worker(): PSR7Worker
    {
        $factory = new Psr17Factory();
        return new PSR7Worker(Worker::create(), $factory, $factory, $factory);
    }

    public function testTheLoopOfRoadRunnersScriptsRuns(): void
    {
        Server::$requests = ['/a', '/b'];
        $this->expectOutputString('GET /a;GET /b;');
        $worker = self::worker();
        while ($request = $worker->waitRequest()) {
            $text = $request->getMethod() . ' ' . $request->getUri()->getPath() . ';';
            $worker->respond(new Response(201, ['X-A' => 'b'], $text));
        }
        self::assertContains(['status', 201], Server::$calls);
        self::assertContains(['header', 'X-A: b'], Server::$calls);
    }

    public function testABodyIsSentInPartsFromItsStart(): void
    {
        Server::$requests = ['/a'];
        $this->expectOutputString('0123456789');
        $worker = self::worker();
        $worker->chunkSize = 4;
        $worker->waitRequest();
        $body = Stream::create('0123456789');
        $body->seek(5);
        $worker->respond(new Response(200, [], $body));
    }

    public function testAnExceptionOfTheScriptIsReported(): void
    {
        Server::$requests = ['/a'];
        $worker = self::worker();
        $worker->waitRequest();
        $worker->getWorker()->error('failed');
        self::assertSame(['failed'], Server::$logged);
        self::assertContains(['status', 500], Server::$calls);
        self::assertNull($worker->waitRequest());
    }
}
