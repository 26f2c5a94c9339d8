--TEST--
Coroutines: a request that exceeds its memory_limit fails alone, beside others that use memory
--SKIPIF--
<?php
if (getenv('USE_ZEND_ALLOC') === '0') {
    echo 'skip no memory limit without PHP\'s allocator';
}
--FILE--
<?php
$gate = new stdClass();
while (frankenphp_handle_request(static function () use ($gate) {
    $held = [];
    if ($_GET['do'] === 'grow') {
        register_shutdown_function(static fn () => $gate->open = true);
        for ($i = 0; $i < 200; $i++) {
            $held[] = array_fill(0, 60000, $i); // 1 MiB
            usleep(1);
        }
        echo 'not stopped';
        return;
    }
    if (isset($_GET['limit'])) {
        ini_set('memory_limit', $_GET['limit']);
    }
    $held[] = str_repeat('x', (int) $_GET['mib'] << 20);
    echo 'holds ', $_GET['mib'], '; ';
    flush();
    while (!isset($gate->open)) {
        $held[1] = str_repeat('y', 2 << 20);
        usleep(100);
    }
    $held[2] = array_fill(0, 120000, 1); // 2 MiB
    usleep(1);
    echo 'goes on with ', ini_get('memory_limit');
})) {}
--INI--
output_buffering=0
memory_limit=48M
--HOWDAH--
show exit
option concurrency 8
worker {ROOT}/test.php
var QUERY_STRING do=hold&mib=40
push a
await-body a holds
push b
await-body b holds
var QUERY_STRING do=hold&mib=100&limit=256M
push large
await-body large holds
var QUERY_STRING do=hold&mib=1&limit=8M
push small
await-body small holds
var QUERY_STRING do=grow
push grow
await grow
await a
await b
await large
await small
wait-exit
--EXPECTF--
grow: 
Fatal error: Allowed memory size of 50331648 bytes exhausted (tried to allocate %d bytes) in {ROOT}/test.php on line 8

a: holds 40; goes on with 48M
b: holds 40; goes on with 48M
large: holds 100; goes on with 256M
small: holds 1; goes on with 8M
[worker exited with status 255]
