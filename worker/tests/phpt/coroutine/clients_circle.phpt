--TEST--
Coroutines: of two requests that each need the other one's client, one is refused and the other continues
--SKIPIF--
<?php
if (!extension_loaded('redis')) {
    echo 'skip redis is not loaded';
} elseif (!getenv('HOWDAH_TEST_REDIS')) {
    echo 'skip HOWDAH_TEST_REDIS is not set, e.g. to "127.0.0.1:6379"';
}
--INI--
howdah.pool_wait=60
--FILE--
<?php
[$host, $port] = explode(':', getenv('HOWDAH_TEST_REDIS'));
$clients = [new Redis(), new Redis()];
$clients[0]->connect($host, (int) $port);
$clients[1]->connect($host, (int) $port);
$gate = new stdClass();
while (frankenphp_handle_request(static function () use ($clients, $gate) {
    $n = (int) $_GET['n'];
    try {
        $clients[$n - 1]->multi();
        $gate->{"has$n"} = true;
        while (!isset($gate->has1, $gate->has2)) {
            usleep(1000);
        }
        $clients[2 - $n]->ping();
        echo 'done';
    } catch (Howdah\SharedClientException $e) {
        echo $e->getMessage();
    }
})) {
}
--HOWDAH--
show exit
option concurrency 2
worker {ROOT}/test.php
var REQUEST_URI /1
var QUERY_STRING n=1
push r1
var REQUEST_URI /2
var QUERY_STRING n=2
push r2
await all
stop
--EXPECTREGEX--
r(1|2): Redis is used by the request "GET /(1|2)", which left a transaction, a pipeline or a result open on it; the request "GET /(1|2)" cannot wait, because that one waits for it in turn. Give each request its own client, for example with howdah_pool\(\)
r(1|2): done
\[worker exited with status 0\]
