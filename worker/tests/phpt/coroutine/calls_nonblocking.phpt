--TEST--
Coroutines: code that polls a non-blocking descriptor repeatedly lets others run
--SKIPIF--
<?php
if (!extension_loaded('sockets')) {
    echo 'skip sockets is not loaded';
}
--FILE--
<?php
use function Howdah\all;

while (frankenphp_handle_request(static function () {
    $streams = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
    stream_set_blocking($streams[0], false);
    echo json_encode(all([
        static function () use ($streams): string {
            while (($word = fread($streams[0], 10)) === '') {
            }
            return $word;
        },
        static fn (): int => fwrite($streams[1], 'stream'),
    ])), "\n";

    socket_create_pair(AF_UNIX, SOCK_STREAM, 0, $sockets);
    socket_set_nonblock($sockets[0]);
    echo json_encode(all([
        static function () use ($sockets): string {
            while (($word = @socket_read($sockets[0], 10)) === false) {
            }
            return $word;
        },
        static fn (): int => socket_write($sockets[1], 'socket'),
    ])), "\n";
})) {
}
--HOWDAH--
option concurrency 2
worker {ROOT}/test.php
run
--EXPECT--
["stream",6]
["socket",6]
