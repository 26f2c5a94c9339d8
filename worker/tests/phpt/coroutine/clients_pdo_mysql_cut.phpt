--TEST--
Coroutines: a call of PDO for MySQL that is cut at any byte of its result leaves nothing behind on the shared handle
--SKIPIF--
<?php
if (!extension_loaded('pdo_mysql')) {
    echo 'skip pdo_mysql is not loaded';
} elseif (!getenv('HOWDAH_TEST_MYSQL')) {
    echo 'skip HOWDAH_TEST_MYSQL is not set, e.g. to "host=127.0.0.1 port=3306 user=test password=test dbname=test"';
}
--USES--
cut.inc
--FILE--
<?php
require __DIR__ . '/cut.inc';
preg_match_all('/(\w+)=(\S+)/', getenv('HOWDAH_TEST_MYSQL'), $found);
$server = array_combine($found[1], $found[2]);
file_put_contents(__DIR__ . '/rows.txt', "loaded\n");
$connect = static function (string $host, int $port) use ($server): PDO {
    return new PDO("mysql:host=$host;port=$port;dbname={$server['dbname']}", $server['user'], $server['password'], [
        PDO::ATTR_EMULATE_PREPARES => false,
        PDO::MYSQL_ATTR_LOCAL_INFILE => true,
        PDO::MYSQL_ATTR_INIT_COMMAND => 'CREATE TEMPORARY TABLE cuts (t varchar(20)) ENGINE=InnoDB',
    ]);
};
$cuts = new Cuts($connect, [
    'query' => static fn (PDO $db) => $db->query("SELECT 'old'")->fetchAll(),
    'unbuffered' => static function (PDO $db) {
        $statement = $db->prepare("SELECT 'old' UNION ALL SELECT 'older'", [PDO::MYSQL_ATTR_USE_BUFFERED_QUERY => false]);
        $statement->execute();
        while ($statement->fetch()) {
            continue;
        }
    },
    'prepared' => static function (PDO $db) {
        $statement = $db->prepare('SELECT ?');
        $statement->execute(['old']);
        return $statement->fetchAll();
    },
    'transaction' => static function (PDO $db) {
        $db->beginTransaction();
        $db->exec("INSERT INTO cuts VALUES ('old')");
        $db->rollBack();
    },
    'load data' => static fn (PDO $db) => $db->exec("LOAD DATA LOCAL INFILE '" . __DIR__ . "/rows.txt' INTO TABLE cuts"),
], static function (PDO $db): array {
    $statement = $db->prepare('SELECT ?');
    $statement->execute(['prepared']);
    $prepared = $statement->fetchColumn();
    $statement->closeCursor();
    return [
        $db->query("SELECT 'right'")->fetchColumn(),
        $prepared,
        $db->inTransaction(),
        (int) $db->query('SELECT @@in_transaction')->fetchColumn(),
        $db->query("SELECT 'a' UNION ALL SELECT 'b'")->fetchAll(PDO::FETCH_COLUMN),
    ];
}, ['right', 'prepared', false, 0, ['a', 'b']]);
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
