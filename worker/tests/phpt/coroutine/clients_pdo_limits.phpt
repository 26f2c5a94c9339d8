--TEST--
Coroutines: a pool of PDO connections has a size: others wait in turn, or get an error that names the user
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
$waits = howdah_pool(new PDO('pgsql:' . getenv('HOWDAH_TEST_PGSQL')), ['size' => 2]);
$fails = new PDO('pgsql:' . getenv('HOWDAH_TEST_PGSQL'));
howdah_pool($fails, ['size' => 1, 'wait' => 0.01]);
$gate = new stdClass();
while (frankenphp_handle_request(static function () use ($waits, $fails, $gate) {
    $until = static function (string $name) use ($gate): void {
        while (!isset($gate->$name)) {
            usleep(1000);
        }
    };
    switch ($_GET['fails'] ?? '') {
        case 'not':
            $result = $fails->query('SELECT 1')->fetchColumn();
            $gate->taken = true;
            $until('refused');
            echo $result;
            return;
        case 'does':
            $until('taken');
            try {
                echo $fails->query('SELECT 1')->fetchColumn();
            } catch (Howdah\SharedClientException $e) {
                echo $e->getMessage();
            }
            $gate->refused = true;
            return;
    }
    $pid = $waits->query('SELECT pg_backend_pid(), pg_sleep(0.02)')->fetchColumn();
    $seen = $waits->query("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'howdah-limits'")->fetchColumn();
    echo $waits->query('SELECT pg_backend_pid()')->fetchColumn() === $pid && $seen <= 2 ? 'right' : "wrong: $seen";
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
await all
var REQUEST_URI /first
var QUERY_STRING fails=not
push first
var REQUEST_URI /second
var QUERY_STRING fails=does
push second
await second
await first
stop
--EXPECTREGEX--
(r\d: right\n){8}second: PDO \(pgsql\): each of its 1 connections is in use; one is used by the request "GET /first", which has it until it ends; the request "GET /second" has waited 0.01 s for it. Give each request its own client, for example with howdah_pool\(\)
first: 1
\[worker exited with status 0\]
