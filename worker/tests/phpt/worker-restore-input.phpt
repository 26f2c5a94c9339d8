--TEST--
Worker mode: a php://input that outlives its request stays readable
--FILE--
<?php
$kept = [];
while (frankenphp_handle_request(function () use (&$kept) {
    foreach ($kept as $stream) {
        rewind($stream);
        echo strlen(stream_get_contents($stream)), ' ';
    }
    $kept[] = $stream = fopen('php://input', 'r');
    echo strlen(stream_get_contents($stream)), "\n";
    if (count($kept) > 2) {
        array_shift($kept);
    }
})) {
}
--FILE body--
12345678
--HOWDAH--
worker {ROOT}/test.php
body inline {ROOT}/body
var REQUEST_METHOD POST
var CONTENT_LENGTH 9
var CONTENT_TYPE text/plain
run
run
run
run
--EXPECT--
9

9 9

9 9 9

9 9 9
