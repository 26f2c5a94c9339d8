--TEST--
Coroutines: a call that sets a client's state keeps it for its request, whose other coroutines continue with it
--SKIPIF--
<?php
if (!extension_loaded('redis')) {
    echo 'skip redis is not loaded';
} elseif (!getenv('HOWDAH_TEST_REDIS')) {
    echo 'skip HOWDAH_TEST_REDIS is not set, e.g. to "127.0.0.1:6379"';
}
--INI--
howdah.pool_wait=30
--FILE--
<?php
use function Howdah\all;

[$host, $port] = explode(':', getenv('HOWDAH_TEST_REDIS'));
while (frankenphp_handle_request(static function () use ($host, $port) {
    $redis = new Redis();
    $redis->connect($host, (int) $port);
    // It may be anything, SELECT for one.
    $raw = static fn () => $redis->rawCommand('BLPOP', 'howdah-nothing', '0.05');
    $echo = static fn (string $word) => $redis->echo($word);
    echo json_encode(all([$raw, static fn () => $echo('a'), static fn () => $echo('b'), $raw, static fn () => $echo('c')])), "\n";
})) {
}
--HOWDAH--
option concurrency 2
worker {ROOT}/test.php
run
--EXPECTREGEX--
\[(null|false|\[\]),"a","b",(null|false|\[\]),"c"\]
