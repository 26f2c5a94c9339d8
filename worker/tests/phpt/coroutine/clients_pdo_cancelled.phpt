--TEST--
Coroutines: no request gets the response of a cancelled query on a PDO connection
--SKIPIF--
<?php
if (!extension_loaded('pdo_pgsql') || !extension_loaded('pdo_mysql')) {
    echo 'skip pdo_pgsql or pdo_mysql is not loaded';
} elseif (!getenv('HOWDAH_TEST_PGSQL') || !getenv('HOWDAH_TEST_MYSQL')) {
    echo 'skip HOWDAH_TEST_PGSQL or HOWDAH_TEST_MYSQL is not set';
}
--FILE--
<?php
$pdo = new PDO('pgsql:' . getenv('HOWDAH_TEST_PGSQL'));
$prepared = $pdo->prepare('SELECT ?::text');
preg_match_all('/(\w+)=(\S+)/', getenv('HOWDAH_TEST_MYSQL'), $found);
$server = array_combine($found[1], $found[2]);
$mysql = new PDO("mysql:host={$server['host']};port={$server['port']};dbname={$server['dbname']}", $server['user'], $server['password']);
ignore_user_abort(false);
while (frankenphp_handle_request(static function () use ($pdo, $prepared, $mysql) {
    $db = str_ends_with($_GET['how'], 'mysql') ? $mysql : $pdo;
    $query = static function (string $sql) use ($db): string {
        try {
            return @$db->query($sql)->fetchColumn();
        } catch (PDOException) {
            return 'fails';
        }
    };
    switch ($_GET['how']) {
        case 'late':
            try {
                Howdah\timeout(0.05, static fn () => $query("SELECT 'old', pg_sleep(0.1)"));
            } catch (Howdah\TimeoutException) {
                echo 'late, ';
            }
            usleep(100_000);
            echo $query("SELECT 'new'"), ', ', $query("SELECT 'newer'");
            return;
        case 'late-mysql':
            // In the midst of the rows: the server sends some of them before it sleeps.
            try {
                Howdah\timeout(0.1, static fn () => $query("SELECT REPEAT('old', 20000), SLEEP(seq > 3) FROM seq_1_to_4"));
            } catch (Howdah\TimeoutException) {
                echo 'late, ';
            }
            usleep(1_000_000);
            echo $query("SELECT 'new'"), ', ', $query("SELECT 'newer'");
            return;
        case 'left':
            echo 'begin';
            flush();
            $query("SELECT 'old', pg_sleep(0.05)");
            return;
        case 'next':
            usleep(60_000);
            $prepared->execute(['prepared']);
            echo $query("SELECT 'next'"), ' ', $prepared->fetchColumn();
            return;
        case 'next-mysql':
            echo $query("SELECT 'next'");
    }
})) {
}
--INI--
output_buffering=0
--HOWDAH--
option concurrency 4
worker {ROOT}/test.php
var QUERY_STRING how=late
push late
await late
var QUERY_STRING how=next
push next1
await next1
var QUERY_STRING how=left
push left
await-body left begin
leave left
await left
var QUERY_STRING how=next
push next2
await next2
var QUERY_STRING how=late-mysql
push mysql
await mysql
var QUERY_STRING how=next-mysql
push next3
await next3
stop
--EXPECT--
late: late, fails, fails
next1: next prepared
left: begin
next2: next prepared
mysql: late, fails, fails
next3: next
