--TEST--
Coroutines: the functions of ext/sockets let other requests run while they wait
--SKIPIF--
<?php
if (!extension_loaded('sockets')) {
    echo 'skip sockets is not loaded';
}
--FILE--
<?php
$gate = new stdClass();
$server = socket_create_listen(0);
socket_getsockname($server, $host, $port);
$accept = static fn () => socket_accept($server);
$connect = static function () use ($port) {
    $socket = socket_create(AF_INET, SOCK_STREAM, SOL_TCP);
    socket_connect($socket, '127.0.0.1', $port);
    usleep(1000);
    return $socket;
};
$cases = [
    'read' => [
        'a' => static fn () => socket_read($accept(), 100),
        'b' => static fn () => socket_write($connect(), 'hello'),
    ],
    'recv' => [
        'a' => static function () use ($accept) {
            $count = socket_recv($accept(), $data, 6, MSG_WAITALL);
            return [$count, $data];
        },
        'b' => static function () use ($connect) {
            $socket = $connect();
            socket_send($socket, 'abc', 3, 0);
            usleep(1000);
            return socket_send($socket, 'def', 3, 0);
        },
    ],
    'select' => [
        'a' => static function () use ($accept) {
            [$read, $write, $except] = [[$accept()], null, null];
            return socket_select($read, $write, $except, null);
        },
        'b' => static fn () => socket_write($connect(), 'x'),
    ],
    'message' => [
        'a' => static function () use ($accept) {
            $data = ['buffer_size' => 100, 'controllen' => socket_cmsg_space(SOL_SOCKET, SCM_RIGHTS, 1)];
            return [socket_recvmsg($accept(), $data), $data['iov']];
        },
        'b' => static fn () => socket_sendmsg($connect(), ['iov' => ['one', 'two']]),
    ],
    'timeout' => [
        'a' => static function () use ($accept, $gate) {
            $socket = $accept();
            socket_set_option($socket, SOL_SOCKET, SO_RCVTIMEO, ['sec' => 0, 'usec' => 10_000]);
            $result = [@socket_read($socket, 100), socket_last_error($socket) === SOCKET_EAGAIN];
            $gate->over = true;
            return $result;
        },
        'b' => static function () use ($connect, $gate) {
            $socket = $connect();
            while (!isset($gate->over)) {
                usleep(1000);
            }
        },
    ],
];
while (frankenphp_handle_request(static function () use ($cases) {
    // In each case the first cannot end before the second has done its part.
    $result = $cases[$_GET['how']][$_GET['me']]();
    echo json_encode($result);
})) {}
--HOWDAH--
option concurrency 2
worker {ROOT}/test.php
var QUERY_STRING me=a&how=read
push read
var QUERY_STRING me=b&how=read
push other
await read
await other
var QUERY_STRING me=a&how=recv
push recv
var QUERY_STRING me=b&how=recv
push other
await recv
await other
var QUERY_STRING me=a&how=select
push select
var QUERY_STRING me=b&how=select
push other
await select
await other
var QUERY_STRING me=a&how=message
push message
var QUERY_STRING me=b&how=message
push other
await message
await other
var QUERY_STRING me=a&how=timeout
push timeout
var QUERY_STRING me=b&how=timeout
push other
await timeout
await other
stop
--EXPECT--
read: "hello"
other: 5
recv: [6,"abcdef"]
other: 3
select: 1
other: 1
message: [6,["onetwo"]]
other: 6
timeout: [false,true]
other: null
