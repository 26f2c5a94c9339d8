--TEST--
Coroutines: the first pipeline, MULTI and WATCH of a Redis object of the boot work, whatever the boot left open
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
$all = [];
foreach ([0, 3] as $database) {
    foreach (['idle', 'pipeline', 'multi', 'both', 'watch'] as $left) {
        $redis = $all["$left $database"] = new Redis();
        $redis->connect($host, (int) $port);
        $redis->select($database);
        $redis->set('howdah-first', "of $database");
        match ($left) {
            'idle' => null,
            'pipeline' => $redis->pipeline()->set('howdah-first', 'left'),
            'multi' => $redis->multi()->set('howdah-first', 'left'),
            'both' => $redis->pipeline()->multi()->set('howdah-first', 'left'),
            'watch' => $redis->watch('howdah-first'),
        };
    }
}
while (frankenphp_handle_request(static function () use ($all) {
    foreach ($all as $name => $redis) {
        echo "$name: ", json_encode(match ($_GET['first']) {
            'pipeline' => $redis->pipeline()->get('howdah-first')->strlen('howdah-first')->exec(),
            'multi' => $redis->multi()->get('howdah-first')->strlen('howdah-first')->exec(),
            'watch' => [$redis->watch('howdah-first'), ...$redis->multi()->get('howdah-first')->exec()],
            'get' => [$redis->get('howdah-first'), $redis->getDbNum(), $redis->getMode()],
        }), "\n";
    }
})) {
}
--HOWDAH--
option concurrency 4
worker {ROOT}/test.php
max-requests 1
var QUERY_STRING first=pipeline
run
wait-exit
respawn
var QUERY_STRING first=multi
run
wait-exit
respawn
var QUERY_STRING first=watch
run
wait-exit
respawn
var QUERY_STRING first=get
run
--EXPECT--
idle 0: ["of 0",4]
pipeline 0: ["of 0",4]
multi 0: ["of 0",4]
both 0: ["of 0",4]
watch 0: ["of 0",4]
idle 3: ["of 3",4]
pipeline 3: ["of 3",4]
multi 3: ["of 3",4]
both 3: ["of 3",4]
watch 3: ["of 3",4]

idle 0: ["of 0",4]
pipeline 0: ["of 0",4]
multi 0: ["of 0",4]
both 0: ["of 0",4]
watch 0: ["of 0",4]
idle 3: ["of 3",4]
pipeline 3: ["of 3",4]
multi 3: ["of 3",4]
both 3: ["of 3",4]
watch 3: ["of 3",4]

idle 0: [true,"of 0"]
pipeline 0: [true,"of 0"]
multi 0: [true,"of 0"]
both 0: [true,"of 0"]
watch 0: [true,"of 0"]
idle 3: [true,"of 3"]
pipeline 3: [true,"of 3"]
multi 3: [true,"of 3"]
both 3: [true,"of 3"]
watch 3: [true,"of 3"]

idle 0: ["of 0",0,0]
pipeline 0: ["of 0",0,0]
multi 0: ["of 0",0,0]
both 0: ["of 0",0,0]
watch 0: ["of 0",0,0]
idle 3: ["of 3",3,0]
pipeline 3: ["of 3",3,0]
multi 3: ["of 3",3,0]
both 3: ["of 3",3,0]
watch 3: ["of 3",3,0]
