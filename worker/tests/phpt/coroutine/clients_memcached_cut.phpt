--TEST--
Coroutines: a Memcached call that is cut at any byte of its result leaves nothing behind on the shared handle
--SKIPIF--
<?php
if (!extension_loaded('memcached')) {
    echo 'skip memcached is not loaded';
} elseif (!getenv('HOWDAH_TEST_MEMCACHED')) {
    echo 'skip HOWDAH_TEST_MEMCACHED is not set, e.g. to "127.0.0.1:11211"';
}
--USES--
cut.inc
--FILE--
<?php
require __DIR__ . '/cut.inc';
$made = static fn (bool $binary): Closure => static function (string $host, int $port) use ($binary): Memcached {
    $memcached = new Memcached();
    $memcached->setOption(Memcached::OPT_BINARY_PROTOCOL, $binary);
    $memcached->addServer($host, $port);
    $memcached->setMulti(['howdah-cut' => 'eleven byte', 'howdah-cut-2' => 2, 'howdah-cut-4' => 1]);
    return $memcached;
};
$cuts = new Cuts($made(false), [
    'get' => static fn (Memcached $memcached) => $memcached->get('howdah-cut'),
    'several' => static fn (Memcached $memcached) => $memcached->getMulti(['howdah-cut', 'howdah-cut-2', 'howdah-none']),
    'set' => static fn (Memcached $memcached) => $memcached->set('howdah-cut-3', 'old'),
    'compare and swap' => static function (Memcached $memcached) {
        $found = $memcached->get('howdah-cut', null, Memcached::GET_EXTENDED);
        $memcached->cas($found['cas'] ?? 0, 'howdah-cut', 'eleven byte');
    },
    'increment' => static fn (Memcached $memcached) => $memcached->increment('howdah-cut-4'),
    'delayed' => static function (Memcached $memcached) {
        $memcached->getDelayed(['howdah-cut', 'howdah-cut-2']);
        return $memcached->fetchAll();
    },
], static function (Memcached $memcached): array {
    $first = $memcached->get('howdah-cut');
    if ($first === false) {
        throw new Gone();
    }
    return [
        $first,
        $memcached->getMulti(['howdah-cut', 'howdah-cut-2']),
        $memcached->get('howdah-none'),
        $memcached->getResultCode(),
        $memcached->set('howdah-cut-3', 'new') && $memcached->get('howdah-cut-3') === 'new',
    ];
}, ['eleven byte', ['howdah-cut' => 'eleven byte', 'howdah-cut-2' => 2], false, Memcached::RES_NOTFOUND, true]);
while (frankenphp_handle_request(static fn () => $cuts->handle(getenv('HOWDAH_TEST_MEMCACHED')))) {
}
--INI--
howdah.pool_wait=20
--HOWDAH--
option concurrency 4
worker {ROOT}/test.php
var QUERY_STRING how=proxy
push proxy
var QUERY_STRING how=step
drive
var QUERY_STRING how=report
run
await proxy
stop
--EXPECT--
right
proxy:
