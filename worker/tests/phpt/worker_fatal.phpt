--TEST--
Worker mode: a fatal error delivers output and shutdown functions of boot and request, then the worker exits and a fork continues
--SKIPIF--
<?php
if (getenv('USE_ZEND_ALLOC') === '0') {
    echo 'skip no memory limit without PHP\'s allocator';
}
--FILE--
<?php
class D { public function __destruct() { echo '~D '; } }
register_shutdown_function(static function () { if ($e = error_get_last()) { http_response_code(500); echo '[boot saw: ', substr($e['message'], 0, 24), '] '; } });
while (frankenphp_handle_request(static function () {
    register_shutdown_function(static function () { echo '[request shutdown]'; });
    ob_start();
    echo 'before ';
    switch ($_GET['how'] ?? '') {
        case 'user': trigger_error('by hand', E_USER_ERROR);
        case 'compile': eval('class A extends A2 {} interface A2 {}');
        case 'memory': $x = str_repeat('x', 200 << 20);
        case 'time': set_time_limit(1); while (true) {}
        case 'stack': $f = static function () use (&$f) { $f(); }; $f();
    }
    echo 'end ';
})) {}
--INI--
display_errors=0
memory_limit=64M
--HOWDAH--
show exit end headers
worker {ROOT}/test.php
var QUERY_STRING how=user
run
wait-exit
respawn
var QUERY_STRING how=memory
run
wait-exit
respawn
var QUERY_STRING how=time
run
wait-exit
respawn
var QUERY_STRING how=stack
run
wait-exit
respawn
var QUERY_STRING
run
stop
--EXPECTF--
Status: 500%A
before [boot saw: by hand] [request shutdown]
[end exit=1 status=255]
[worker exited with status 255]
--
Status: 500%A
%A[boot saw: Allowed memory size of 6] [request shutdown]
[end exit=1 status=255]
[worker exited with status 255]
--
Status: 500%A
before [boot saw: Maximum execution time o] [request shutdown]
[end exit=1 status=255]
[worker exited with status 255]
--
Status: 500%A
[end exit=1 status=255]
[worker exited with status 255]
--
Status: 200%A
before end [request shutdown]
[end exit=0 status=0]
[worker exited with status 0]
