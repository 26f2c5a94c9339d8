--TEST--
Coroutines: Redis::pconnect() and persistent sessions do not share a connection without redis.pconnect.pooling_enabled
--EXTENSIONS--
redis
--SKIPIF--
<?php
if (!getenv('HOWDAH_TEST_REDIS')) {
    echo 'skip HOWDAH_TEST_REDIS is not set, e.g. to "127.0.0.1:6379"';
}
--INI--
session.save_handler=redis
session.use_strict_mode=0
redis.pconnect.pooling_enabled=0
--FILE--
<?php
$address = getenv('HOWDAH_TEST_REDIS');
ini_set('session.save_path', "tcp://$address?persistent=1");
$id = bin2hex(random_bytes(8));
while (frankenphp_handle_request(static function () use ($address, $id) {
    $n = $_GET['n'];
    [$host, $port] = explode(':', $address);
    $redis = new Redis();
    $redis->pconnect($host, (int) $port);
    for ($i = 0; $i < 20; $i++) {
        $redis->set("howdah-$id-$n", "$n:$i");
        $value = $redis->get("howdah-$id-$n");
        session_id("$id-$n");
        session_start();
        $visits = $_SESSION['visits'] ?? "$n:0";
        $_SESSION['visits'] = $n . ':' . ($i + 1);
        session_write_close();
        if ($value !== "$n:$i" || $visits !== "$n:$i") {
            echo "visit $i: ", json_encode([$value, $visits]);
            return;
        }
    }
    $redis->del("howdah-$id-$n");
    session_start();
    session_destroy();
    echo 'its own, ', var_export(ini_set('redis.pconnect.pooling_enabled', '0'), true);
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
one: its own, false
two: its own, false
three: its own, false
