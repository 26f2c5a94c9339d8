--TEST--
Coroutines: each request has its memory_limit, whatever the others of its process use
--SKIPIF--
<?php
if (getenv('USE_ZEND_ALLOC') === '0') {
    echo 'skip no memory limit without PHP\'s allocator';
}
--FILE--
<?php
$gate = new stdClass();
while (frankenphp_handle_request(static function () use ($gate) {
    if ($_GET['n'] === 'more') {
        ini_set('memory_limit', '96M');
    }
    $held = str_repeat('x', (int) $_GET['mib'] << 20);
    echo ini_get('memory_limit'), ' ';
    flush();
    while (!isset($gate->open) && $_GET['n'] !== 'open') {
        usleep(1000);
    }
    $gate->open = true;
    echo strlen($held) >> 20;
})) {}
--INI--
output_buffering=0
memory_limit=48M
--HOWDAH--
show exit end
option concurrency 4
worker {ROOT}/test.php
var QUERY_STRING n=a&mib=40
push a
await-body a 48M
push b
await-body b 48M
var QUERY_STRING n=more&mib=80
push more
await-body more 96M
var QUERY_STRING n=open&mib=1
push open
await open
await a
await b
await more
var QUERY_STRING n=alone&mib=60
run
wait-exit
--EXPECTF--
open: 48M 1
[end exit=0 status=0]
a: 48M 40
[end exit=0 status=0]
b: 48M 40
[end exit=0 status=0]
more: 96M 80
[end exit=0 status=0]
%AAllowed memory size of 50331648 bytes exhausted%A
[end exit=1 status=255]
[worker exited with status 255]
