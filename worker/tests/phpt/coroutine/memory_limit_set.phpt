--TEST--
Coroutines: ini_set('memory_limit') below the request's current use fails, whatever the process uses
--SKIPIF--
<?php
if (getenv('USE_ZEND_ALLOC') === '0') {
    echo 'skip no memory limit without PHP\'s allocator';
}
--FILE--
<?php
$boot = str_repeat('x', 30 << 20);
while (frankenphp_handle_request(static function () {
    $held = str_repeat('x', (int) $_GET['mib'] << 20);
    var_dump(ini_set('memory_limit', '8M'));
    echo ini_get('memory_limit');
})) {}
--INI--
html_errors=0
memory_limit=48M
--HOWDAH--
option concurrency 2
worker {ROOT}/test.php
var QUERY_STRING mib=4
run
var QUERY_STRING mib=20
run
--EXPECTF--
string(3) "48M"
8M

Warning: Failed to set memory limit to 8388608 bytes (Current memory usage is %d bytes) in {ROOT}/test.php on line 5
bool(false)
48M
