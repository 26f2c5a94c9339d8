--TEST--
Coroutines: the used part of a request's stack is freed when the request ends
--FILE--
<?php
function resident(): int
{
    preg_match('/^VmRSS:\s+(\d+)/m', file_get_contents('/proc/self/status'), $match);
    return (int) $match[1];
}
$notes = new stdClass();
while (frankenphp_handle_request(static function () use ($notes) {
    if ($_GET['n'] === 'deep') {
        $value = [];
        for ($i = 0; $i < 4000; $i++) {
            $value = [$value];
        }
        serialize($value);
        unset($value);
        gc_mem_caches();
        $notes->deep = resident();
        return;
    }
    if (isset($notes->deep)) {
        // The stack took six times as much.
        echo $notes->deep - resident() > 3000 ? 'given back' : "before $notes->deep, now " . resident();
    }
})) {}
--SKIPIF--
<?php
if (getenv('USE_ZEND_ALLOC') === '0') {
    echo 'skip frames have other sizes with a sanitizer';
}
--HOWDAH--
option concurrency 2
worker {ROOT}/test.php
var QUERY_STRING n=warm
run
var QUERY_STRING n=deep
run
var QUERY_STRING n=look
run
stop
--EXPECT--
given back
