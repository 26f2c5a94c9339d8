<?php

declare(strict_types=1);

namespace Howdah\Psr7Worker\Tests;

use Fiber;
use Howdah\Psr7Worker\Worker;
use LogicException;
use PHPUnit\Framework\TestCase;

final class WorkerTest extends TestCase
{
    use Script;

    public function testALoopGetsEachRequestUntilTheServerEndsIt(): void
    {
        Server::$requests = ['/a', '/b', '/c'];
        $worker = Worker::create();
        $seen = [];
        while ($worker->wait()) {
            $seen[] = $_SERVER['REQUEST_URI'];
            $worker->begin();
            $worker->finish();
        }
        self::assertSame(['/a', '/b', '/c'], $seen);
        self::assertSame([], Server::$logged);
        self::assertFalse($worker->wait(), 'it stays at its end');
    }

    public function testWithoutAWorkerThereIsOneRequest(): void
    {
        unset($_SERVER['FRANKENPHP_WORKER']);
        $worker = Worker::create();
        self::assertTrue($worker->wait());
        $worker->finish();
        self::assertFalse($worker->wait());
    }

    public function testStopEndsTheLoop(): void
    {
        Server::$requests = ['/a', '/b'];
        $worker = Worker::create();
        self::assertTrue($worker->wait());
        $worker->finish();
        $worker->stop();
        self::assertFalse($worker->wait());
        self::assertSame(['/b'], Server::$requests);
    }

    public function testARequestWithoutAResponseGetsAnError(): void
    {
        Server::$requests = ['/forgotten', '/b'];
        $worker = Worker::create();
        $worker->wait();
        $worker->wait();
        self::assertSame(['The script has not responded to GET /forgotten'], Server::$logged);
        self::assertContains(['status', 500], Server::$calls);
        self::assertContains(['finish'], Server::$calls);
        $worker->finish();
    }

    public function testAnErrorAfterTheResponseIsOnlyLogged(): void
    {
        Server::$requests = ['/a'];
        $worker = Worker::create();
        $worker->wait();
        $worker->finish();
        Server::$calls = [];
        $worker->error('late');
        self::assertSame(['late'], Server::$logged);
        self::assertSame([], Server::$calls);
    }

    public function testOutputOfTheScriptIsLoggedAndItsFieldsAreDropped(): void
    {
        Server::$requests = ['/a'];
        $this->expectOutputString('the response');
        $worker = Worker::create();
        $worker->wait();
        echo 'a notice';
        $worker->begin();
        self::assertSame(['a notice'], Server::$logged);
        self::assertSame([['header_remove']], Server::$calls);
        echo 'the response';
        $worker->finish();
    }

    public function testOutputIsSentIfTheScriptWantsThat(): void
    {
        Server::$requests = ['/a'];
        $this->expectOutputString('a notice, the response');
        $worker = Worker::create(interceptSideEffects: false);
        $worker->wait();
        echo 'a notice, ';
        $worker->begin();
        echo 'the response';
        $worker->finish();
        self::assertSame([], Server::$logged);
    }

    public function testSeveralRequestsAtATimeAreRefused(): void
    {
        $worker = Worker::create();
        $refused = null;
        // The server runs the callback of a second request in a coroutine of its own.
        Server::$requests = ['/a'];
        self::assertTrue($worker->wait());
        $loop = (new \ReflectionProperty($worker, 'loop'))->getValue($worker);
        $serve = (new \ReflectionMethod($loop, 'serve'))->getClosure($loop);
        Server::$requests = ['/b'];
        $other = new Fiber(static function () use ($serve, &$refused): void {
            try {
                $serve();
            } catch (LogicException $error) {
                $refused = $error->getMessage();
            }
        });
        $other->start();
        self::assertStringContainsString('`concurrency`', (string) $refused);
        $worker->finish();
    }
}
