--TEST--
memory_limit: fatal error, shutdown functions, the worker continues
--SKIPIF--
<?php
if (getenv('USE_ZEND_ALLOC') === '0') {
    echo 'skip no memory limit without PHP\'s allocator';
}
--INI--
memory_limit=4M
--FILE--
<?php
if (isset($_GET['ok'])) {
    exit(ini_get('memory_limit'));
}
register_shutdown_function(function () { echo "shutdown\n"; });
$all = [];
while (true) {
    $all[] = str_repeat('x', 100000);
}
--HOWDAH--
show end
run
var QUERY_STRING ok=1
run
--EXPECTF--
Fatal error: Allowed memory size of 4194304 bytes exhausted (tried to allocate %d bytes) in {ROOT}/test.php on line 8
shutdown

[end exit=1 status=255]
4M
[end exit=0 status=0]
