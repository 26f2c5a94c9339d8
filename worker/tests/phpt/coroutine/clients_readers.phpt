--TEST--
Coroutines: the result of the last call is not reported to another request
--SKIPIF--
<?php
if (!extension_loaded('mysqli')) {
    echo 'skip mysqli is not loaded';
} elseif (!getenv('HOWDAH_TEST_MYSQL')) {
    echo 'skip HOWDAH_TEST_MYSQL is not set, e.g. to "host=127.0.0.1 port=3306 user=test password=test dbname=test"';
}
--FILE--
<?php
preg_match_all('/(\w+)=(\S+)/', getenv('HOWDAH_TEST_MYSQL'), $found);
$server = array_combine($found[1], $found[2]);
mysqli_report(MYSQLI_REPORT_OFF);
$db = null;
howdah_after_fork(static function () use (&$db, $server) {
    $db = new mysqli($server['host'], $server['user'], $server['password'], $server['dbname'], (int) $server['port']);
    $db->query('CREATE TEMPORARY TABLE t (id int AUTO_INCREMENT PRIMARY KEY)');
});
$gate = new stdClass();
while (frankenphp_handle_request(static function () use (&$db, $gate) {
    if ($_GET['n'] == 2) {
        while (!isset($gate->first)) {
            usleep(1000);
        }
    }
    $db->query('INSERT INTO t VALUES ()');
    $id = $db->insert_id;
    if ($_GET['n'] == 1) {
        $gate->first = true;
        while (!isset($gate->second)) {
            usleep(1000);
        }
        try {
            echo $db->insert_id === $id ? 'own' : 'mixed';
        } catch (Howdah\SharedClientException $e) {
            echo $e->getMessage();
        }
    } else {
        echo $db->insert_id === $id ? 'own' : 'mixed';
        $gate->second = true;
    }
})) {
}
--HOWDAH--
show exit
option concurrency 2
worker {ROOT}/test.php
var REQUEST_URI /1
var QUERY_STRING n=1
push r1
var REQUEST_URI /2
var QUERY_STRING n=2
push r2
await r2
await r1
stop
--EXPECTREGEX--
r2: own
r1: mysqli is used by (a request that has ended|the request "GET /2"|a request that is ending), which used it in between; the request "GET /1" would read what is the other one's\. .*
\[worker exited with status 0\]
