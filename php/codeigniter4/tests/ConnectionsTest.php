<?php

declare(strict_types=1);

namespace Howdah\CodeIgniter4\Tests;

use CodeIgniter\Cache\Handlers\RedisHandler;
use CodeIgniter\Config\BaseService;
use CodeIgniter\Database\BaseConnection;
use CodeIgniter\Database\Config;
use Howdah\CodeIgniter4\Connections;
use Howdah\CodeIgniter4\Property;
use PHPUnit\Framework\TestCase;
use RuntimeException;

final class ConnectionsTest extends TestCase
{
    protected function setUp(): void
    {
        if (!property_exists(Config::class, 'connections') || !property_exists(BaseConnection::class, 'isAlive')) {
            self::markTestSkipped('with the framework itself, a database is needed');
        }
        Log::$lines = [];
        Config::$connections = [];
    }

    private static function open(string $group = 'default'): BaseConnection
    {
        return Config::$connections[$group] = new BaseConnection();
    }

    public function testAConnectionThatTheServerHasClosedIsClosed(): void
    {
        [$alive, $dead] = [self::open(), self::open('reports')];
        $dead->isAlive = false;
        (new Connections())->begin();
        self::assertSame(['SELECT 1'], $alive->calls);
        self::assertSame('handle', $alive->connID);
        // It is opened again at its next use, even if it could not be closed.
        self::assertFalse($dead->connID);
    }

    public function testAConnectionThatIsNotOpenIsNotQueried(): void
    {
        $closed = self::open();
        $closed->connID = false;
        (new Connections())->begin();
        self::assertSame([], $closed->calls);
    }

    public function testOpenTransactionsAreRolledBackAndLogged(): void
    {
        $connection = self::open('shop');
        $connection->transBegin();
        $connection->transBegin();
        (new Connections())->end();
        self::assertSame(['rollback', 'rollback'], $connection->calls);
        self::assertSame(["error: Uncommitted transaction in database group 'shop': it was rolled back."], Log::$lines);
        self::assertSame('handle', $connection->connID);
    }

    public function testAConnectionThatCannotRollBackIsClosed(): void
    {
        foreach (['rollsBack', 'isAlive'] as $fault) {
            $connection = self::open();
            $connection->transBegin();
            $connection->$fault = false;
            (new Connections())->end();
            self::assertContains('close', $connection->calls, $fault);
            self::assertFalse($connection->connID, $fault);
            self::assertSame(0, $connection->settings()[0], $fault);
        }
    }

    public function testSettingsOfARequestEndWithIt(): void
    {
        $connection = self::open();
        (new Connections())->end();
        self::assertSame([0, true, false, true, null, []], $connection->settings());
        self::assertSame([], Log::$lines);
    }

    public function testACacheWithoutItsConnectionConnectsAgain(): void
    {
        foreach ([true, false] as $fails) {
            $client = new class ($fails) {
                public function __construct(private readonly bool $fails)
                {
                }

                public function ping(): bool
                {
                    return $this->fails ? throw new RuntimeException('gone away') : true;
                }
            };
            $cache = new RedisHandler($client);
            (new Property(BaseService::class, 'instances'))->set(['cache' => $cache]);
            (new Connections())->begin();
            self::assertSame((int) $fails, $cache->connected);
        }
        (new Property(BaseService::class, 'instances'))->set([]);
    }
}
