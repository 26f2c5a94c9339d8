--TEST--
Coroutines: a pgsql call that is cut at any byte of its result leaves nothing behind on the shared handle
--SKIPIF--
<?php
if (!extension_loaded('pgsql')) {
    echo 'skip pgsql is not loaded';
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
$connect = static function (string $host, int $port) use ($server): PgSql\Connection {
    $options = "user={$server['user']} dbname={$server['dbname']} sslmode=disable gssencmode=disable";
    return pg_connect("host=$host port=$port $options", PGSQL_CONNECT_FORCE_NEW);
};
$ask = static function (PgSql\Connection $db, string $sql, array $values = []): mixed {
    $result = @pg_query_params($db, $sql, $values);
    if ($result === false) {
        throw pg_connection_status($db) === PGSQL_CONNECTION_OK ? new Exception(pg_last_error($db)) : new Gone();
    }
    return pg_fetch_all_columns($result);
};
$cuts = new Cuts($connect, [
    'query' => static fn (PgSql\Connection $db) => @pg_fetch_all(pg_query($db, "SELECT 'old'")),
    'prepared' => static function (PgSql\Connection $db) {
        @pg_prepare($db, '', 'SELECT $1::text');
        return @pg_fetch_all(pg_execute($db, '', ['old']));
    },
    'transaction' => static function (PgSql\Connection $db) {
        @pg_query($db, 'BEGIN');
        @pg_query($db, 'SELECT 1');
        @pg_query($db, 'ROLLBACK');
    },
    'cursor' => static function (PgSql\Connection $db) {
        @pg_query($db, 'BEGIN');
        @pg_query($db, "DECLARE cuts CURSOR FOR SELECT 'old' UNION ALL SELECT 'older'");
        @pg_query($db, 'FETCH cuts');
        @pg_query($db, 'ROLLBACK');
    },
    'copy' => static function (PgSql\Connection $db) {
        @pg_query($db, 'CREATE TEMPORARY TABLE cuts (t text)');
        @pg_copy_from($db, 'cuts', ["old\n", "older\n"]);
        @pg_copy_to($db, 'cuts');
        @pg_query($db, 'DROP TABLE cuts');
    },
    'asynchronous' => static function (PgSql\Connection $db) {
        if (@pg_send_query($db, "SELECT 'old'; SELECT 'older'")) {
            while (@pg_get_result($db)) {
                continue;
            }
        }
    },
    'notify' => static function (PgSql\Connection $db) {
        @pg_query($db, 'LISTEN cuts');
        @pg_query($db, "NOTIFY cuts, 'old'");
        @pg_get_notify($db);
        @pg_query($db, 'UNLISTEN cuts');
    },
], static fn (PgSql\Connection $db): array => [
    $ask($db, "SELECT 'right'"),
    $ask($db, 'SELECT $1::text', ['prepared']),
    pg_transaction_status($db),
    $ask($db, 'SELECT COUNT(*) FROM pg_cursors WHERE name <> \'\''),
    $ask($db, "SELECT 'a' UNION ALL SELECT 'b' ORDER BY 1"),
    pg_get_notify($db),
], [['right'], ['prepared'], PGSQL_TRANSACTION_IDLE, ['0'], ['a', 'b'], false]);
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
