--TEST--
Coroutines: a call of PDO for PostgreSQL that is cut at any byte of its result leaves nothing behind on the shared handle
--SKIPIF--
<?php
if (!extension_loaded('pdo_pgsql')) {
    echo 'skip pdo_pgsql is not loaded';
} elseif (!getenv('HOWDAH_TEST_PGSQL')) {
    echo 'skip HOWDAH_TEST_PGSQL is not set, e.g. to "host=127.0.0.1 port=5432 user=test dbname=test"';
}
--USES--
cut.inc
--FILE--
<?php
require __DIR__ . '/cut.inc';
preg_match_all('/(\w+)=(\S+)/', getenv('HOWDAH_TEST_PGSQL'), $found);
$server = array_combine($found[1], $found[2]);
$connect = static function (string $host, int $port) use ($server): PDO {
    return new PDO("pgsql:host=$host;port=$port;user={$server['user']};dbname={$server['dbname']};sslmode=disable;gssencmode=disable");
};
$cuts = new Cuts($connect, [
    'query' => static fn (PDO $db) => $db->query("SELECT 'old'")->fetchAll(),
    'prepared' => static function (PDO $db) {
        $statement = $db->prepare('SELECT ?::text');
        $statement->execute(['old']);
        return $statement->fetchAll();
    },
    'transaction' => static function (PDO $db) {
        $db->beginTransaction();
        $db->exec('SELECT 1');
        $db->rollBack();
    },
    'cursor' => static function (PDO $db) {
        $db->beginTransaction();
        $statement = $db->prepare("SELECT 'old' UNION ALL SELECT 'older'", [PDO::ATTR_CURSOR => PDO::CURSOR_SCROLL]);
        $statement->execute();
        $statement->fetch(PDO::FETCH_ASSOC, PDO::FETCH_ORI_LAST);
        $db->rollBack();
    },
    'copy' => static function (PDO $db) {
        $db->exec('CREATE TEMPORARY TABLE cuts (t text)');
        $db->pgsqlCopyFromArray('cuts', ['old', 'older']);
        $db->pgsqlCopyToArray('cuts');
        $db->exec('DROP TABLE cuts');
    },
    'notify' => static function (PDO $db) {
        $db->exec('LISTEN cuts');
        $db->exec("NOTIFY cuts, 'old'");
        $db->pgsqlGetNotify(PDO::FETCH_ASSOC, 1);
        $db->exec('UNLISTEN cuts');
    },
], static function (PDO $db): array {
    $statement = $db->prepare('SELECT ?::text');
    $statement->execute(['prepared']);
    return [
        $db->query("SELECT 'right'")->fetchColumn(),
        $statement->fetchColumn(),
        $db->inTransaction(),
        $db->query('SELECT COUNT(*) FROM pg_cursors WHERE name <> \'\'')->fetchColumn(),
        $db->query("SELECT 'a' UNION ALL SELECT 'b' ORDER BY 1")->fetchAll(PDO::FETCH_COLUMN),
        $db->pgsqlGetNotify(),
    ];
}, ['right', 'prepared', false, 0, ['a', 'b'], false]);
while (frankenphp_handle_request(static fn () => $cuts->handle("{$server['host']}:{$server['port']}"))) {
}
--INI--
howdah.pool_wait=20
--HOWDAH--
option concurrency 4
worker {ROOT}/test.php
var QUERY_STRING how=proxy
push proxy
var QUERY_STRING how=step
drive
var QUERY_STRING how=report
run
await proxy
stop
--EXPECT--
right
proxy:
