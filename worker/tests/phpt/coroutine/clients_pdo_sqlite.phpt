--TEST--
Coroutines: SQLite: a file is opened for each request, a database in memory is one request's at a time
--SKIPIF--
<?php
if (!extension_loaded('pdo_sqlite') || !extension_loaded('sqlite3')) {
    echo 'skip pdo_sqlite or sqlite3 is not loaded';
}
--INI--
howdah.pool_wait=60
--FILE--
<?php
$file = new PDO('sqlite:' . __DIR__ . '/test.db', null, null, [PDO::ATTR_TIMEOUT => 20]);
$file->exec('CREATE TABLE t (n int)');
$memory = new PDO('sqlite::memory:');
$memory->exec('CREATE TABLE t (n int)');
$memory->sqliteCreateFunction('twice', static fn ($n) => 2 * $n, 1);
$object = new SQLite3(':memory:');
$object->exec('CREATE TABLE t (n int)');
$insert = $memory->prepare('INSERT INTO t VALUES (?)');
while (frankenphp_handle_request(static function () use ($file, $memory, $object, $insert) {
    $n = (int) $_GET['n'];
    $wrong = [];
    $is = static function ($what, $expected, $found) use (&$wrong) {
        if ($expected !== $found) {
            $wrong[] = "$what: " . var_export($found, true);
        }
    };
    $file->beginTransaction();
    $file->exec("INSERT INTO t VALUES ($n)");
    usleep(1000);
    $is('file', [$n], $file->query("SELECT n FROM t WHERE n = $n")->fetchAll(PDO::FETCH_COLUMN));
    $n % 2 ? $file->commit() : $file->rollBack();
    $memory->beginTransaction();
    $insert->execute([$n]);
    usleep(1000);
    $is('memory', [[$n, 2 * $n]], $memory->query("SELECT n, twice(n) FROM t")->fetchAll(PDO::FETCH_NUM));
    if ($n % 2) {
        $memory->rollBack();
    } // else: it stays open
    $object->exec('BEGIN');
    $object->exec("INSERT INTO t VALUES ($n)");
    usleep(1000);
    $is('object', 1, $object->querySingle('SELECT count(*) FROM t'));
    if ($n % 2) {
        $object->exec('ROLLBACK');
    } // else: it stays open
    echo $wrong ? "$n: " . implode(', ', $wrong) : 'right';
})) {
}
--HOWDAH--
show exit
option concurrency 10
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
await all
stop
--EXPECTREGEX--
(r\d+: right\n){10}\[worker exited with status 0\]
