<?php

declare(strict_types=1);

namespace App\Controllers;

use CodeIgniter\HTTP\ResponseInterface;

/** Pages that use the database, the cache and the session that `.env` names. */
class Store extends BaseController
{
    private static ?object $first = null;

    public function create(): string
    {
        $db = db_connect();
        $db->query('DROP TABLE IF EXISTS notes');
        $db->query('CREATE TABLE notes (mark VARCHAR(40) NOT NULL)');
        return 'created';
    }

    public function add(string $mark): ResponseInterface
    {
        $notes = db_connect()->table('notes');
        $notes->insert(['mark' => $mark]);
        $found = $notes->where('mark', $mark)->countAllResults();
        return $this->response->setJSON(['pid' => getmypid(), 'mark' => $mark, 'found' => $found]);
    }

    /** Leaves a transaction open in the requested way. */
    public function leave(string $mark, string $how): string
    {
        $db = db_connect();
        $how === 'statement' ? $db->query('BEGIN') : $db->transBegin();
        $db->table('notes')->insert(['mark' => $mark]);
        if ($how === 'exit') {
            echo 'left';
            exit;
        }
        if ($how === 'lost') {
            $this->lose();
        }
        return 'left';
    }

    public function found(string $mark): string
    {
        return (string) db_connect()->table('notes')->where('mark', $mark)->countAllResults();
    }

    /** Number of connections to the database, including this one. */
    public function connections(): string
    {
        $db = db_connect();
        $sql = $db->DBDriver === 'Postgre'
            ? "SELECT COUNT(*) AS n FROM pg_stat_activity WHERE backend_type = 'client backend' AND usename = 'test'"
            : 'SELECT COUNT(*) AS n FROM information_schema.processlist';
        return (string) $db->query($sql)->getRow()->n;
    }

    /** Makes the database close the connection of this worker. */
    public function lose(): string
    {
        $db = db_connect();
        $sql = $db->DBDriver === 'Postgre' ? 'SELECT pg_terminate_backend(pg_backend_pid())' : 'KILL CONNECTION_ID()';
        try {
            $db->query($sql);
        } catch (\Throwable) {
            // The result does not arrive any more.
        }
        return 'lost';
    }

    /** Runs two queries, which the debug toolbar counts. */
    public function two(): string
    {
        $db = db_connect();
        return $db->query('SELECT 1 AS n')->getRow()->n . $db->query('SELECT 2 AS n')->getRow()->n;
    }

    /** Whether sessions use the same connection as the first session of this worker. */
    public function pooled(): string
    {
        $session = session();
        $handler = (new \ReflectionProperty($session, 'driver'))->getValue($session);
        $name = property_exists($handler, 'redis') ? 'redis' : 'memcached';
        $client = (new \ReflectionProperty($handler, $name))->getValue($handler);
        self::$first ??= $client;
        return $client === self::$first ? 'pooled' : 'another one';
    }

    public function remember(string $mark): string
    {
        cache()->save("mark_{$mark}", $mark, 60);
        return (string) cache("mark_{$mark}");
    }

    /** Uses the database, the cache and the session in one request. */
    public function all(string $mark): ResponseInterface
    {
        $session = session();
        $session->set('mark', $mark);
        cache()->save("mark_{$mark}", $mark, 60);
        $row = db_connect()->query('SELECT ? AS mark', [$mark])->getRow();
        return $this->response->setJSON([
            'session' => $session->get('mark'),
            'cache' => cache("mark_{$mark}"),
            'database' => $row->mark,
        ]);
    }
}
