--TEST--
Memory runs out while PHP reads the request's input: 500, and the worker exits with status 70
--SKIPIF--
<?php
if (getenv('USE_ZEND_ALLOC') === '0') {
    echo 'skip no memory limit without PHP\'s allocator';
}
--INI--
memory_limit=2M
display_errors=0
log_errors=1
--FILE--
<?php
if ($_SERVER['REQUEST_METHOD'] === 'GET') {
    for ($i = 0; $i < 40; $i++) {
        file_put_contents(__DIR__ . '/large', "a$i=" . str_repeat('x', 50000) . '&', FILE_APPEND);
    }
}
echo 'ran';
--HOWDAH--
show headers end exit log
run
var REQUEST_METHOD POST
var CONTENT_TYPE application/x-www-form-urlencoded
body file {ROOT}/large
run
wait-exit
respawn
body none
var REQUEST_METHOD GET
run
--EXPECTF--
Status: 200
Content-type: text/html; charset=UTF-8

ran
[end exit=0 status=0]
--
Status: 500 Internal Server Error
Content-type: text/html; charset=UTF-8


[end exit=1 status=255]
[log e 2] PHP Fatal error:  Allowed memory size of 2097152 bytes exhausted %s
[log e 2] PHP could not start a request; this worker exits
[worker exited with status 70]
--
Status: 200
Content-type: text/html; charset=UTF-8

ran
[end exit=0 status=0]
