--TEST--
Coroutines: a request whose client does not read waits for room, others run meanwhile
--FILE--
<?php
while (frankenphp_handle_request(static function () {
    if ($_GET['n'] === 'large') {
        echo 'begin ';
        flush();
        for ($i = 0; $i < 3000; $i++) {
            printf('%099d ', $i);
        }
        echo 'end';
    } else {
        echo $_GET['n'];
    }
})) {}
--INI--
output_buffering=0
--HOWDAH--
show exit
option concurrency 4
worker {ROOT}/test.php
var QUERY_STRING n=large
push large
await-body large begin
stall large
var QUERY_STRING n=small
push small
await small
var QUERY_STRING n=other
push other
await other
read large
await large
stop
--EXPECTREGEX--
small: small
other: other
large: begin (0+\d+ ){2999}0{95}2999 end
\[worker exited with status 0\]
