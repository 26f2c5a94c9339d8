--TEST--
Coroutines: one Memcached object for all requests: calls wait in turn
--SKIPIF--
<?php
if (!extension_loaded('memcached')) {
    echo 'skip memcached is not loaded';
} elseif (!getenv('HOWDAH_TEST_MEMCACHED')) {
    echo 'skip HOWDAH_TEST_MEMCACHED is not set, e.g. to "127.0.0.1:11211"';
}
--INI--
howdah.pool_wait=60
--FILE--
<?php
[$host, $port] = explode(':', getenv('HOWDAH_TEST_MEMCACHED'));
$client = new Memcached();
$client->addServer($host, (int) $port);
while (frankenphp_handle_request(static function () use ($client) {
    $n = (int) $_GET['n'];
    $wrong = [];
    $is = static function ($what, $expected, $found) use (&$wrong) {
        if ($expected !== $found) {
            $wrong[] = "$what: " . var_export($found, true);
        }
    };
    for ($i = 0; $i < 20; $i++) {
        $is('set', true, $client->set("howdah-$n", "value $n $i"));
        $is('get', "value $n $i", $client->get("howdah-$n"));
        $is('none', false, $client->get("howdah-none-$n"));
        $is('code', Memcached::RES_NOTFOUND, $client->getResultCode());
    }
    echo $wrong ? "$n: " . implode(', ', $wrong) : 'right';
})) {
}
--HOWDAH--
show exit
option concurrency 12
worker {ROOT}/test.php
var REQUEST_URI /1
var QUERY_STRING n=1
push r1
var REQUEST_URI /2
var QUERY_STRING n=2
push r2
var REQUEST_URI /3
var QUERY_STRING n=3
push r3
var REQUEST_URI /4
var QUERY_STRING n=4
push r4
var REQUEST_URI /5
var QUERY_STRING n=5
push r5
var REQUEST_URI /6
var QUERY_STRING n=6
push r6
var REQUEST_URI /7
var QUERY_STRING n=7
push r7
var REQUEST_URI /8
var QUERY_STRING n=8
push r8
var REQUEST_URI /9
var QUERY_STRING n=9
push r9
var REQUEST_URI /10
var QUERY_STRING n=10
push r10
var REQUEST_URI /11
var QUERY_STRING n=11
push r11
var REQUEST_URI /12
var QUERY_STRING n=12
push r12
await all
stop
--EXPECTREGEX--
(r\d+: right\n){12}\[worker exited with status 0\]
