--TEST--
Coroutines: no request gets the response of a cancelled query on a shared pgsql connection
--SKIPIF--
<?php
if (!extension_loaded('pgsql')) {
    echo 'skip pgsql is not loaded';
} elseif (!getenv('HOWDAH_TEST_PGSQL')) {
    echo 'skip HOWDAH_TEST_PGSQL is not set, e.g. to "host=127.0.0.1 port=5432 user=test dbname=test"';
}
--FILE--
<?php
$db = pg_connect(getenv('HOWDAH_TEST_PGSQL'));
pg_query($db, "SET TIME ZONE 'Asia/Tokyo'");
$gate = new stdClass();
ignore_user_abort(false);
while (frankenphp_handle_request(static function () use ($db, $gate) {
    $query = static function (string $sql) use ($db): string {
        $result = @pg_query($db, $sql);
        return $result ? pg_fetch_result($result, 0, 0) : 'fails';
    };
    switch ($_GET['how']) {
        case 'stay': // while others are on their way nobody looks whether connections are alive
            while (!isset($gate->open)) {
                usleep(1000);
            }
            return;
        case 'open':
            $gate->open = true;
            return;
        case 'late':
            try {
                Howdah\timeout(0.05, static fn () => $query("SELECT 'old', pg_sleep(0.1)"));
            } catch (Howdah\TimeoutException) {
                echo 'late, ';
            }
            usleep(100_000);
            echo $query("SELECT 'new'"), ', ', $query("SELECT 'newer'");
            return;
        case 'left':
            echo 'begin';
            flush();
            $query("SELECT 'old', pg_sleep(0.05)");
            return;
        case 'transaction':
            pg_query($db, 'BEGIN');
            echo 'begin';
            flush();
            $query("SELECT 'old', pg_sleep(0.05)");
            return;
        case 'next':
            usleep(60_000);
            echo $query("SELECT 'next'"), ' ', $query('SHOW TIME ZONE');
    }
})) {
}
--INI--
output_buffering=0
--HOWDAH--
option concurrency 4
worker {ROOT}/test.php
var QUERY_STRING how=stay
push stay
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
var QUERY_STRING how=transaction
push transaction
await-body transaction begin
leave transaction
await transaction
var QUERY_STRING how=next
push next3
await next3
var QUERY_STRING how=open
push open
await all
stop
--EXPECT--
late: late, fails, fails
next1: next Asia/Tokyo
left: begin
next2: next Asia/Tokyo
transaction: begin
next3: next Asia/Tokyo
open: 
stay: 
