--TEST--
Worker mode: sockets that the worker script connected are dead ends in a worker, and the zygote's own stay open
--FILE--
<?php
$listener = stream_socket_server('tcp://127.0.0.1:0');
$client = stream_socket_client('tcp://' . stream_socket_get_name($listener, false));
$server = stream_socket_accept($listener);
$unix = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
$receiver = stream_socket_server('udp://127.0.0.1:0', $code, $text, STREAM_SERVER_BIND);
$sender = stream_socket_client('udp://' . stream_socket_get_name($receiver, false));
$file = fopen(__FILE__, 'r');
$name = stream_socket_get_name($sender, false);
while (frankenphp_handle_request(function () use ($listener, $client, $server, $unix, $receiver, $sender, $file, $name) {
    foreach ([$client, $server, ...$unix] as $stream) {
        var_dump(@fread($stream, 1) === '' && feof($stream));
    }
    // Nothing came through, and a listener and a file are as they were.
    $another = stream_socket_client('tcp://' . stream_socket_get_name($listener, false));
    $accepted = stream_socket_accept($listener, 10);
    fwrite($another, 'x');
    echo fread($accepted, 1), fread($file, 2), "\n";
    // A datagram socket has become one of the worker's own.
    fwrite($sender, 'datagram');
    var_dump(stream_socket_recvfrom($receiver, 100), stream_socket_get_name($sender, false) !== $name);
})) {
}
--HOWDAH--
worker {ROOT}/test.php
run
--EXPECT--
bool(true)
bool(true)
bool(true)
bool(true)
x<?
string(8) "datagram"
bool(true)
