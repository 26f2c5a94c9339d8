--TEST--
Coroutines: one PDO object for all requests: each has a private connection, transaction and errors (mysql)
--SKIPIF--
<?php
if (!extension_loaded('pdo_mysql')) {
    echo 'skip pdo_mysql is not loaded';
} elseif (!getenv('HOWDAH_TEST_MYSQL')) {
    echo 'skip HOWDAH_TEST_MYSQL is not set, e.g. to "host=127.0.0.1 port=3306 user=test password=test dbname=test"';
}
--INI--
howdah.pool_wait=60
--FILE--
<?php
preg_match_all('/(\w+)=(\S+)/', getenv('HOWDAH_TEST_MYSQL'), $found);
$server = array_combine($found[1], $found[2]);
$pdo = new PDO("mysql:host={$server['host']};port={$server['port']};dbname={$server['dbname']}", $server['user'], $server['password'],
    [constant(PHP_VERSION_ID < 80400 ? 'PDO::MYSQL_ATTR_INIT_COMMAND' : 'Pdo\Mysql::ATTR_INIT_COMMAND') => "SET time_zone = '+03:00'", PDO::ATTR_EMULATE_PREPARES => false, PDO::ATTR_ERRMODE => PDO::ERRMODE_SILENT]);
$buffered = constant(PHP_VERSION_ID < 80400 ? 'PDO::MYSQL_ATTR_USE_BUFFERED_QUERY' : 'Pdo\Mysql::ATTR_USE_BUFFERED_QUERY');
$prepared = $pdo->prepare('SELECT ? * 10, SLEEP(0.02)');
while (frankenphp_handle_request(static function () use ($pdo, $prepared, $buffered) {
    $n = (int) $_GET['n'];
    $wrong = [];
    $is = static function ($what, $expected, $found) use (&$wrong) {
        if ($expected !== $found) {
            $wrong[] = "$what: " . var_export($found, true);
        }
    };
    $pdo->exec('CREATE TEMPORARY TABLE IF NOT EXISTS howdah_t (id int AUTO_INCREMENT PRIMARY KEY, n int) ENGINE=InnoDB');
    $pdo->exec('TRUNCATE howdah_t');
    for ($i = 0; $i < 5; $i++) {
        $is('query', $n, $pdo->query("SELECT $n, SLEEP(0.005)")->fetchColumn());
        $prepared->execute([$n + $i]);
        $is('prepared', 10 * ($n + $i), (int) $prepared->fetchColumn());
        $prepared->closeCursor();
    }
    $is('before', false, $pdo->inTransaction());
    $pdo->beginTransaction();
    for ($i = 0; $i < $n; $i++) {
        $pdo->exec("INSERT INTO howdah_t (n) VALUES ($n)");
    }
    usleep(5000);
    $is('id', (string) $n, $pdo->lastInsertId());
    $is('in', true, $pdo->inTransaction());
    $is('rows', $n, $pdo->query('SELECT COUNT(*) FROM howdah_t')->fetchColumn());
    if ($n % 3 === 0) {
        $pdo->rollBack();
        $pdo->query("SELECT nothing_$n");
        usleep(5000);
        $is('error', true, str_contains($pdo->errorInfo()[2] ?? '', "nothing_$n"));
    } elseif ($n % 3 === 1) {
        $pdo->commit();
        $pdo->setAttribute($buffered, false); // of this request alone
        $is('unbuffered', (string) $n, (string) $pdo->query("SELECT $n UNION ALL SELECT SLEEP(0.002)")->fetchColumn());
    } else { // it stays open
        $is('buffered', true, (bool) $pdo->getAttribute($buffered));
    }
    $is('time zone', '+03:00', $n % 3 === 1 ? '+03:00' : $pdo->query('SELECT @@time_zone')->fetchColumn());
    echo $wrong ? "$n: " . implode(', ', $wrong) : 'right';
})) {
}
--HOWDAH--
show exit
option concurrency 20
worker {ROOT}/test.php
var REQUEST_URI /1
var QUERY_STRING n=1
push r1
var REQUEST_URI /2
var QUERY_STRING n=2
push r2
var REQUEST_URI /3
var QUERY_STRING n=3
push r3
var REQUEST_URI /4
var QUERY_STRING n=4
push r4
var REQUEST_URI /5
var QUERY_STRING n=5
push r5
var REQUEST_URI /6
var QUERY_STRING n=6
push r6
var REQUEST_URI /7
var QUERY_STRING n=7
push r7
var REQUEST_URI /8
var QUERY_STRING n=8
push r8
var REQUEST_URI /9
var QUERY_STRING n=9
push r9
var REQUEST_URI /10
var QUERY_STRING n=10
push r10
var REQUEST_URI /11
var QUERY_STRING n=11
push r11
var REQUEST_URI /12
var QUERY_STRING n=12
push r12
var REQUEST_URI /13
var QUERY_STRING n=13
push r13
var REQUEST_URI /14
var QUERY_STRING n=14
push r14
var REQUEST_URI /15
var QUERY_STRING n=15
push r15
var REQUEST_URI /16
var QUERY_STRING n=16
push r16
var REQUEST_URI /17
var QUERY_STRING n=17
push r17
var REQUEST_URI /18
var QUERY_STRING n=18
push r18
var REQUEST_URI /19
var QUERY_STRING n=19
push r19
var REQUEST_URI /20
var QUERY_STRING n=20
push r20
await all
stop
--EXPECTREGEX--
(r\d+: right\n){20}\[worker exited with status 0\]
