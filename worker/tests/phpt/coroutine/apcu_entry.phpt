--TEST--
Coroutines: the generator of apcu_entry() runs once, and others of the process wait without blocking it
--SKIPIF--
<?php
if (!extension_loaded('apcu')) {
    echo 'skip no apcu';
}
--FILE--
<?php
$log = new stdClass();
$log->runs = [];
while (frankenphp_handle_request(function () use ($log) {
    $generate = function (string $key) use ($log): string {
        $log->runs[] = $key;
        usleep(20000);
        if ($key === 'fails' && count($log->runs) < 4) {
            throw new RuntimeException("run " . count($log->runs));
        }
        return "value of $key";
    };
    switch ($_GET['do']) {
        case 'runs':
            $kept = array_column(apcu_cache_info()['cache_list'], 'info');
            sort($log->runs);
            sort($kept);
            echo implode(' ', $log->runs), ' | ', implode(' ', $kept), "\n";
            return;
        case 'nested':
            echo apcu_entry('outer', fn () => 'in ' . apcu_entry('inner', $generate)), "\n";
            return;
        case 'fetch':
            echo json_encode(apcu_fetch('page')), "\n"; // APCu's lock is not held
            return;
    }
    try {
        echo apcu_entry($_GET['do'], $generate, 60), "\n";
    } catch (RuntimeException $e) {
        echo $e->getMessage(), "\n";
    }
})) {
}
--INI--
apc.enabled=1
--HOWDAH--
worker {ROOT}/test.php
option concurrency 4
var QUERY_STRING do=page
push a
push b
push c
var QUERY_STRING do=fetch
push fetch
await fetch
await a
await b
await c
var QUERY_STRING do=fails
push d
push e
await d
await e
var QUERY_STRING do=nested
push f
push g
await f
await g
var QUERY_STRING do=runs
run
--EXPECT--
fetch: false

a: value of page

b: value of page

c: value of page

d: run 2

e: run 3

f: in value of inner

g: in value of inner

fails fails inner page | inner outer page
