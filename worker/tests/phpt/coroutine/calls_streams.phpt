--TEST--
Coroutines: streams let other requests run while they wait
--FILE--
<?php
$gate = new stdClass();
$server = stream_socket_server('tcp://127.0.0.1:0');
$address = stream_socket_get_name($server, false);
$accept = static fn () => stream_socket_accept($server, 1000);
$connect = static fn () => stream_socket_client("tcp://$address");
$text = str_repeat('0123456789abcdef', 1 << 18);
$cases = [
    'fgets' => [
        'a' => static fn () => fgets($accept()),
        'b' => static function () use ($connect) {
            $stream = $connect();
            usleep(1000);
            return fwrite($stream, "a line\n");
        },
    ],
    'select' => [
        'a' => static function () use ($accept) {
            [$read, $write, $except] = [[$accept()], null, null];
            $count = stream_select($read, $write, $except, 1000);
            return [$count, count($read)];
        },
        'b' => static function () use ($connect) {
            $stream = $connect();
            usleep(1000);
            return fwrite($stream, 'x');
        },
    ],
    // More than fits on the way.
    'large' => [
        'a' => static function () use ($accept, $text) {
            $stream = $accept();
            for ($written = 0; $written < strlen($text); $written += $count) {
                $count = fwrite($stream, substr($text, $written));
            }
            return $written;
        },
        'b' => static fn () => stream_get_contents($connect()) === $text,
    ],
    'whole' => [
        'a' => static fn () => stream_get_contents($accept()),
        'b' => static function () use ($connect) {
            $stream = $connect();
            foreach (['one ', 'two ', 'three'] as $part) {
                fwrite($stream, $part);
                usleep(1000);
            }
            return fclose($stream);
        },
    ],
    'accept' => [
        'a' => static fn () => fread($accept(), 5),
        'b' => static fn () => fwrite($connect(), 'hello'),
    ],
    'dialogue' => [
        'a' => static function () use ($accept) {
            $client = $accept();
            fwrite($client, 'hello');
            return fgets($client);
        },
        'b' => static function () use ($address) {
            [$host, $port] = explode(':', $address);
            $stream = fsockopen($host, (int) $port);
            $got = fread($stream, 5);
            fwrite($stream, "bye\n");
            return $got;
        },
    ],
    'timeout' => [
        'a' => static function () use ($accept, $gate) {
            $stream = $accept();
            stream_set_timeout($stream, 0, 10_000);
            $result = [fgets($stream), stream_get_meta_data($stream)['timed_out']];
            $gate->over = true;
            return $result;
        },
        'b' => static function () use ($connect, $gate) {
            $stream = $connect();
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
var QUERY_STRING me=a&how=fgets
push fgets
var QUERY_STRING me=b&how=fgets
push other
await fgets
await other
var QUERY_STRING me=a&how=select
push select
var QUERY_STRING me=b&how=select
push other
await select
await other
var QUERY_STRING me=a&how=large
push large
var QUERY_STRING me=b&how=large
push other
await large
await other
var QUERY_STRING me=a&how=whole
push whole
var QUERY_STRING me=b&how=whole
push other
await whole
await other
var QUERY_STRING me=a&how=accept
push accept
var QUERY_STRING me=b&how=accept
push other
await accept
await other
var QUERY_STRING me=a&how=dialogue
push dialogue
var QUERY_STRING me=b&how=dialogue
push other
await dialogue
await other
var QUERY_STRING me=a&how=timeout
push timeout
var QUERY_STRING me=b&how=timeout
push other
await timeout
await other
stop
--EXPECT--
fgets: "a line\n"
other: 7
select: [1,1]
other: 1
large: 4194304
other: true
whole: "one two three"
other: true
accept: "hello"
other: 5
dialogue: "bye\n"
other: "hello"
timeout: [false,true]
other: null
