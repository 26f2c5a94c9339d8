--TEST--
Coroutines: a mysqli call that is cut at any byte of its result leaves nothing behind on the shared handle
--SKIPIF--
<?php
if (!extension_loaded('mysqli')) {
    echo 'skip mysqli is not loaded';
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
mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);
file_put_contents(__DIR__ . '/rows.txt', "loaded\n");
$connect = static function (string $host, int $port) use ($server): mysqli {
    $db = mysqli_init();
    $db->options(MYSQLI_OPT_LOCAL_INFILE, true);
    $db->real_connect($host, $server['user'], $server['password'], $server['dbname'], $port);
    $db->query('CREATE TEMPORARY TABLE cuts (t varchar(20)) ENGINE=InnoDB');
    return $db;
};
$cuts = new Cuts($connect, [
    'query' => static fn (mysqli $db) => $db->query("SELECT 'old'")->fetch_all(),
    'unbuffered' => static fn (mysqli $db) => $db->query("SELECT 'old' UNION ALL SELECT 'older'", MYSQLI_USE_RESULT)->fetch_all(),
    'prepared' => static function (mysqli $db) {
        $statement = $db->prepare('SELECT ?');
        $statement->execute(['old']);
        return $statement->get_result()->fetch_all();
    },
    'cursor' => static function (mysqli $db) {
        $statement = $db->prepare("SELECT 'old' UNION ALL SELECT 'older'");
        $statement->attr_set(MYSQLI_STMT_ATTR_CURSOR_TYPE, MYSQLI_CURSOR_TYPE_READ_ONLY);
        $statement->execute();
        $statement->bind_result($text);
        while ($statement->fetch()) {
            continue;
        }
    },
    'transaction' => static function (mysqli $db) {
        $db->begin_transaction();
        $db->query("INSERT INTO cuts VALUES ('old')");
        $db->rollback();
    },
    'several' => static function (mysqli $db) {
        $db->multi_query("SELECT 'old'; SELECT 'older'");
        do {
            $db->store_result();
        } while ($db->next_result());
    },
    'load data' => static fn (mysqli $db) => $db->query("LOAD DATA LOCAL INFILE '" . __DIR__ . "/rows.txt' INTO TABLE cuts"),
], static function (mysqli $db): array {
    try {
        $first = $db->query("SELECT 'right'")->fetch_column();
    } catch (mysqli_sql_exception $exception) {
        throw in_array($exception->getCode(), [2006, 2013], true) ? new Gone() : $exception;
    }
    $statement = $db->prepare('SELECT ?');
    $statement->execute(['prepared']);
    $prepared = $statement->get_result()->fetch_column();
    $db->query('DELETE FROM cuts');
    return [
        $first,
        $prepared,
        (int) $db->query('SELECT @@in_transaction')->fetch_column(),
        $db->query("SELECT 'a' UNION ALL SELECT 'b'")->fetch_all(),
        $db->errno,
        $db->more_results(),
    ];
}, ['right', 'prepared', 0, [['a'], ['b']], 0, false]);
while (frankenphp_handle_request(static fn () => $cuts->handle("{$server['host']}:{$server['port']}"))) {
}
--INI--
howdah.pool_wait=20
mysqli.allow_local_infile=1
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
