--TEST--
Coroutines: options and the database of a shared Redis object that a request sets end with it
--SKIPIF--
<?php
if (!extension_loaded('redis')) {
    echo 'skip redis is not loaded';
} elseif (!getenv('HOWDAH_TEST_REDIS')) {
    echo 'skip HOWDAH_TEST_REDIS is not set, e.g. to "127.0.0.1:6379"';
}
--FILE--
<?php
[$host, $port] = explode(':', getenv('HOWDAH_TEST_REDIS'));
$redis = new Redis();
$redis->connect($host, (int) $port);
$redis->select(2);
$redis->setOption(Redis::OPT_PREFIX, 'boot:');
$redis->setOption(Redis::OPT_SCAN, Redis::SCAN_RETRY);
$service = new stdClass();
$see = static fn (Redis $redis) => [
    $redis->getDbNum(),
    preg_match('/ db=(\d+) /', $redis->rawCommand('CLIENT', 'LIST', 'ID', (string) $redis->rawCommand('CLIENT', 'ID')), $found) ? $found[1] : '',
    $redis->_prefix('key'),
    $redis->getOption(Redis::OPT_SCAN),
    $redis->getOption(Redis::OPT_SERIALIZER),
    $redis->getOption(Redis::OPT_READ_TIMEOUT),
];
while (frankenphp_handle_request(static function () use ($redis, $service, $see, $host, $port) {
    switch ($_GET['do'] ?? 'see') {
        case 'cut':
        case 'left':
            echo 'begin';
            flush();
            ignore_user_abort(false);
            // falls through
        case 'set':
            $redis->select(5);
            $redis->setOption(Redis::OPT_PREFIX, 'request:');
            $redis->setOption(Redis::OPT_SCAN, Redis::SCAN_NORETRY);
            $redis->setOption(Redis::OPT_SCAN, Redis::SCAN_PREFIX);
            $redis->setOption(Redis::OPT_SERIALIZER, Redis::SERIALIZER_PHP);
            $redis->setOption(Redis::OPT_READ_TIMEOUT, 7.5);
            if ($_GET['do'] === 'cut') {
                $redis->blPop('howdah-nothing', 0);
            } elseif ($_GET['do'] === 'left') {
                sleep(100);
            }
            break;
        case 'make':
            $service->redis = new Redis();
            $service->redis->connect($host, (int) $port);
            $service->redis->select(3);
            $service->redis->setOption(Redis::OPT_PREFIX, 'service:');
            break;
        case 'made':
            echo json_encode($see($service->redis));
            return;
    }
    echo json_encode($see($redis));
})) {
}
--INI--
default_socket_timeout=60
output_buffering=0
--HOWDAH--
option concurrency 3
worker {ROOT}/test.php
run
var QUERY_STRING do=set
run
var QUERY_STRING
run
var QUERY_STRING do=cut
push cut
await-body cut begin
leave cut
await cut
var QUERY_STRING
run
run
var QUERY_STRING do=left
push left
await-body left begin
leave left
await left
var QUERY_STRING
run
run
var QUERY_STRING do=make
run
var QUERY_STRING do=made
run
--EXPECT--
[2,"2","boot:key",1,0,0]
[5,"5","request:key",2,1,7.5]
[2,"2","boot:key",1,0,60]
cut: begin
[2,"2","boot:key",1,0,60]
[2,"2","boot:key",1,0,60]
left: begin
[2,"2","boot:key",1,0,60]
[2,"2","boot:key",1,0,60]
[2,"2","boot:key",1,0,60]
[3,"3","service:key",0,0,0]
