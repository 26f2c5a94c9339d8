--TEST--
Coroutines: a PDO object that a request created and left behind: each later request has a private connection with its attributes
--SKIPIF--
<?php
if (!extension_loaded('pdo_pgsql')) {
    echo 'skip pdo_pgsql is not loaded';
} elseif (!getenv('HOWDAH_TEST_PGSQL')) {
    echo 'skip HOWDAH_TEST_PGSQL is not set, e.g. to "host=127.0.0.1 port=5432 user=test dbname=test"';
}
--INI--
howdah.pool_wait=60
--FILE--
<?php
class Db
{
    public ?PDO $pdo = null;
}
$db = new Db();
while (frankenphp_handle_request(static function () use ($db) {
    $n = (int) $_GET['n'];
    $makes = !$db->pdo;
    if ($makes) {
        $db->pdo = new PDO('pgsql:' . getenv('HOWDAH_TEST_PGSQL'), null, null, [PDO::ATTR_PERSISTENT => true]);
        $db->pdo->setAttribute(PDO::ATTR_DEFAULT_FETCH_MODE, PDO::FETCH_NUM);
        $db->pdo->setAttribute(PDO::ATTR_EMULATE_PREPARES, true);
    }
    $wrong = [];
    $is = static function ($what, $expected, $found) use (&$wrong) {
        if ($expected !== $found) {
            $wrong[] = "$what: " . var_export($found, true);
        }
    };
    for ($i = 0; $i < 5; $i++) {
        $is('row', [$n], $db->pdo->query("SELECT $n FROM pg_sleep(0.005)")->fetch());
        $is('emulated', true, $db->pdo->getAttribute(PDO::ATTR_EMULATE_PREPARES));
        $is('fetch mode', PDO::FETCH_NUM, $db->pdo->getAttribute(PDO::ATTR_DEFAULT_FETCH_MODE));
    }
    if (!$makes && $n % 2) { // of this request alone; what the first one sets is for all until another comes
        $db->pdo->setAttribute(PDO::ATTR_DEFAULT_FETCH_MODE, PDO::FETCH_ASSOC);
        $db->pdo->setAttribute(PDO::ATTR_EMULATE_PREPARES, false);
    }
    $own = new PDO('pgsql:' . getenv('HOWDAH_TEST_PGSQL'), null, null, [PDO::ATTR_PERSISTENT => true]);
    $own->beginTransaction();
    usleep(2000);
    $is('own', $n, $own->query("SELECT $n, pg_sleep(0.002)")->fetchColumn());
    echo $wrong ? "$n: " . implode(', ', $wrong) : 'right';
    unset($own);
})) {
}
--HOWDAH--
show exit
option concurrency 8
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
await all
stop
--EXPECTREGEX--
(r\d+: right\n){16}\[worker exited with status 0\]
