--TEST--
Coroutines: SID is that of the request's own session, and of no earlier one
--INI--
session.save_path=/tmp
session.use_cookies=0
session.use_only_cookies=0
session.use_strict_mode=0
error_reporting=8191
--FILE--
<?php
$place = new stdClass();
while (frankenphp_handle_request(function () use ($place) {
    if ($_GET['id'] !== '') {
        session_id($_GET['id']);
        session_start();
        $place->here = ($place->here ?? 0) + 1;
        while ($place->here < 2) {
            usleep(500);
        }
    }
    echo '"', SID, '"';
})) {
}
--HOWDAH--
worker {ROOT}/test.php
option concurrency 2
var QUERY_STRING id=aaaaaaaaaaaaaaaaaaaaaaaa
push a
var QUERY_STRING id=bbbbbbbbbbbbbbbbbbbbbbbb
push b
await a
await b
var QUERY_STRING id=
run
--EXPECT--
a: "PHPSESSID=aaaaaaaaaaaaaaaaaaaaaaaa"
b: "PHPSESSID=bbbbbbbbbbbbbbbbbbbbbbbb"
""
