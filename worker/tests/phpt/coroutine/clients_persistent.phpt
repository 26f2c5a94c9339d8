--TEST--
Coroutines: each request has private persistent streams
--FILE--
<?php
$server = stream_socket_server('tcp://127.0.0.1:0');
$port = (int) substr(strrchr(stream_socket_get_name($server, false), ':'), 1);
$meet = new stdClass();
$meet->connected = 0;
$connects = [
    'pfsockopen' => static fn () => pfsockopen('127.0.0.1', $port),
    'client' => static fn () => stream_socket_client("tcp://127.0.0.1:$port", $code, $message, 5, STREAM_CLIENT_CONNECT | STREAM_CLIENT_PERSISTENT),
    'named' => static fn () => stream_socket_client(flags: STREAM_CLIENT_CONNECT | STREAM_CLIENT_PERSISTENT, address: "tcp://127.0.0.1:$port"),
];
while (frankenphp_handle_request(static function () use ($server, $meet, $connects) {
    if ($_GET['n'] === 'server') {
        for ($i = 0; $i < 6; $i++) {
            $peers[] = stream_socket_accept($server);
        }
        foreach ($peers as $peer) {
            fwrite($peer, fgets($peer));
        }
        return;
    }
    foreach ($connects as $name => $connect) {
        $streams[$name] = $connect();
        fwrite($streams[$name], "$_GET[n] $name\n");
        $meet->connected++;
    }
    while ($meet->connected < 6) {
        usleep(1000);
    }
    foreach ($streams as $stream) {
        echo rtrim(fgets($stream)), ' ';
    }
})) {}
--HOWDAH--
option concurrency 4
worker {ROOT}/test.php
var QUERY_STRING n=server
push server
var QUERY_STRING n=a
push a
var QUERY_STRING n=b
push b
await a
await b
await server
stop
--EXPECT--
a: a pfsockopen a client a named 
b: b pfsockopen b client b named 
server: 
