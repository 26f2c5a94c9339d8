--TEST--
Coroutines: sessions on memcached do not share a connection
--EXTENSIONS--
memcached
--SKIPIF--
<?php
if (!getenv('HOWDAH_TEST_MEMCACHED')) {
    echo 'skip HOWDAH_TEST_MEMCACHED is not set, e.g. to "127.0.0.1:11211"';
}
--INI--
session.save_handler=memcached
session.use_strict_mode=0
memcached.sess_persistent=1
--FILE--
<?php
ini_set('session.save_path', getenv('HOWDAH_TEST_MEMCACHED'));
$id = bin2hex(random_bytes(8));
while (frankenphp_handle_request(static function () use ($id) {
    $n = $_GET['n'];
    ini_set('memcached.sess_persistent', 1);
    for ($i = 0; $i < 20; $i++) {
        session_id("$id-$n");
        if (!session_start() || ($_SESSION['visits'] ?? "$n:0") !== "$n:$i") {
            echo "visit $i: ", json_encode($_SESSION);
            return;
        }
        $_SESSION['visits'] = $n . ':' . ($i + 1);
        if (!session_write_close()) {
            echo "visit $i: not written";
            return;
        }
    }
    echo 'its own session';
})) {
}
--HOWDAH--
option concurrency 4
worker {ROOT}/test.php
var QUERY_STRING n=1
push one
var QUERY_STRING n=2
push two
var QUERY_STRING n=3
push three
await one
await two
await three
stop
--EXPECT--
one: its own session
two: its own session
three: its own session
