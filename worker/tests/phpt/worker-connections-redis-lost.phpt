--TEST--
Worker mode: a Redis connection that is lost in a MULTI or a pipeline leaves nothing behind for the next request
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
$redis->select(1);
$other = new Redis();
$other->connect($host, (int) $port);
while (frankenphp_handle_request(static function () use ($redis, $other) {
    try {
        switch ($_GET['how']) {
            case 'multi':
                $id = $redis->client('id');
                $redis->multi();
                $redis->set('howdah-lost', 'multi');
                $other->rawCommand('CLIENT', 'KILL', 'ID', $id);
                $redis->get('howdah-lost');
                echo 'not lost';
                break;
            case 'pipeline':
                $id = $redis->client('id');
                $redis->pipeline();
                $redis->set('howdah-lost', 'pipeline');
                $other->rawCommand('CLIENT', 'KILL', 'ID', $id);
                $redis->multi();
                break;
            case 'next':
                echo json_encode([
                    $redis->set('howdah-lost', 'value'),
                    $redis->multi()->get('howdah-lost')->exec(),
                    $redis->pipeline()->get('howdah-lost')->strlen('howdah-lost')->exec(),
                    $redis->getDBNum(),
                ]);
        }
    } catch (RedisException $exception) {
        echo 'lost';
    }
})) {
}
--HOWDAH--
worker {ROOT}/test.php
var QUERY_STRING how=multi
run
var QUERY_STRING how=next
run
var QUERY_STRING how=pipeline
run
var QUERY_STRING how=next
run
stop
--EXPECT--
lost
[true,["value"],["value",5],1]

[true,["value"],["value",5],1]
