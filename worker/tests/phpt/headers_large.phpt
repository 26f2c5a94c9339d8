--TEST--
Headers that do not fit: 500, logged, and the worker continues
--FILE--
<?php
if (!isset($_GET['ok'])) {
    header('X-Big: ' . str_repeat('x', 40000));
}
echo 'body';
--HOWDAH--
show log headers
run
var QUERY_STRING ok=1
run
--EXPECTF--
Status: 500
Content-Type: text/plain; charset=utf-8


[log e 1] The response's headers do not fit into 32768 bytes; 500 was sent instead
--
Status: 200
Content-type: text/html; charset=UTF-8

body
