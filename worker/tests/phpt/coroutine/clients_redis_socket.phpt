--TEST--
Coroutines: a Redis object at a Unix domain socket
--SKIPIF--
<?php
if (!extension_loaded('redis')) {
    echo 'skip redis is not loaded';
}
--FILE--
<?php
$path = __DIR__ . '/redis.sock';
$redis = new Redis();
while (frankenphp_handle_request(static function () use ($path, $redis) {
    if ($_GET['how'] === 'server') {
        $server = stream_socket_server("unix://$path");
        $client = stream_socket_accept($server);
        fgets($client);
        fwrite($client, "$6\r\nanswer\r\n");
        echo 'served';
        return;
    }
    while (!file_exists($path)) {
        usleep(1000);
    }
    $redis->connect($path);
    echo $redis->get('key');
})) {
}
--HOWDAH--
option concurrency 2
worker {ROOT}/test.php
var QUERY_STRING how=server
push server
var QUERY_STRING how=client
push client
await all
stop
--EXPECT--
server: served
client: answer
