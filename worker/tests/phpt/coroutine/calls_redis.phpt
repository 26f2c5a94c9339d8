--TEST--
Coroutines: commands of Redis let other requests run
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
$connect = static function () use ($host, $port) {
    $redis = new Redis();
    $redis->connect($host, (int) $port);
    return $redis;
};
$connect()->del('howdah-calls');
$cases = [
    'list' => [
        'a' => static fn () => $connect()->blPop(['howdah-calls'], 1000),
        'b' => static fn () => $connect()->rPush('howdah-calls', 'value'),
    ],
];
while (frankenphp_handle_request(static function () use ($cases) {
    // In each case the first cannot end before the second has done its part.
    $result = $cases[$_GET['how']][$_GET['me']]();
    echo json_encode($result);
})) {}
--HOWDAH--
option concurrency 2
worker {ROOT}/test.php
var QUERY_STRING me=a&how=list
push list
var QUERY_STRING me=b&how=list
push other
await list
await other
stop
--EXPECT--
list: ["howdah-calls","value"]
other: 1
