--TEST--
Coroutines: a Redis call that is cut at any byte of its result leaves nothing behind on the shared object
--SKIPIF--
<?php
if (!extension_loaded('redis')) {
    echo 'skip redis is not loaded';
} elseif (!getenv('HOWDAH_TEST_REDIS')) {
    echo 'skip HOWDAH_TEST_REDIS is not set, e.g. to "127.0.0.1:6379"';
}
--FILE--
<?php
/** Passes on all requests, and results up to a number of bytes; after them the connection is silent or closed. */
final class Proxy
{
    public string $address = '';
    public bool $stop = false;
    public int $passed = 0;
    public ?int $limit = null;
    public bool $closes = false;

    public function run(string $target): void
    {
        $server = stream_socket_server('tcp://127.0.0.1:0');
        $this->address = stream_socket_get_name($server, false);
        $pairs = [];
        while (!$this->stop) {
            $read = [$server];
            foreach ($pairs as [$client, $upstream]) {
                array_push($read, $client, $upstream);
            }
            $none = null;
            if (!stream_select($read, $none, $none, 0, 20_000)) {
                continue;
            }
            if (in_array($server, $read, true)) {
                $pairs[] = [stream_socket_accept($server), stream_socket_client("tcp://$target")];
            }
            foreach ($pairs as $key => [$client, $upstream]) {
                if (in_array($client, $read, true)) {
                    $bytes = stream_socket_recvfrom($client, 65536);
                    if ($bytes === '' || $bytes === false) {
                        unset($pairs[$key]);
                        continue;
                    }
                    fwrite($upstream, $bytes);
                }
                if (in_array($upstream, $read, true) && !$this->pass($client, stream_socket_recvfrom($upstream, 65536))) {
                    unset($pairs[$key]);
                }
            }
        }
    }

    private function pass($client, string $bytes): bool
    {
        $room = $this->limit === null ? strlen($bytes) : max(0, min(strlen($bytes), $this->limit - $this->passed));
        $this->passed += $room;
        if ($room > 0) {
            fwrite($client, substr($bytes, 0, $room));
        }
        return $room === strlen($bytes) || !$this->closes;
    }

    public function cutAfter(?int $limit, bool $closes = false): void
    {
        [$this->passed, $this->limit, $this->closes] = [0, $limit, $closes];
    }
}

$proxy = new Proxy();
$redis = new Redis();
$publisher = new Redis();
$mangled = null;
ignore_user_abort(false);

$calls = [
    'plain' => static fn () => $redis->get('howdah-cut'),
    'list' => static fn () => $redis->mget(['howdah-cut', 'howdah-cut-none', 'howdah-cut']),
    'number' => static fn () => $redis->strlen('howdah-cut'),
    'multi' => static fn () => $redis->multi()->set('howdah-cut-2', '2')->get('howdah-cut')->exec(),
    'pipeline' => static fn () => $redis->pipeline()->get('howdah-cut')->strlen('howdah-cut')->exec(),
    'multi in pipeline' => static fn () => $redis->pipeline()->multi()->get('howdah-cut')->exec()->exec(),
    'pairs' => static fn () => $redis->zRange('howdah-cut-scores', 0, -1, true),
    'fields' => static fn () => $redis->hGetAll('howdah-cut-fields'),
    'places' => static fn () => $redis->geoRadius('howdah-cut-places', 13.0, 52.0, 900, 'km', ['WITHCOORD', 'WITHDIST']),
    'entries' => static fn () => $redis->xRange('howdah-cut-entries', '-', '+'),
    'nested' => static fn () => $redis->eval("return {{'a', {1, 'b'}}, 'c'}"),
    'scan' => static function () use ($redis) {
        $cursor = null;
        return $redis->sScan('howdah-cut-set', $cursor);
    },
    'subscribe' => static function () use ($redis) {
        try {
            $redis->subscribe(['howdah-cut', 'howdah-cut-2'], static function () {
            });
        } catch (RedisException) {
        }
    },
    'message' => static function () use ($redis, $publisher, &$mangled) {
        Howdah\race([static function () use ($redis, &$mangled) {
            try {
                $redis->subscribe(['howdah-cut'], static function (Redis $redis, string $channel, string $message) use (&$mangled) {
                    if ([$channel, $message] !== ['howdah-cut', 'a message']) {
                        $mangled = "\"$message\" of \"$channel\"";
                    }
                    $redis->unsubscribe([$channel]);
                });
            } catch (RedisException) {
            }
        }, static function () use ($publisher) {
            while ($publisher->publish('howdah-cut', 'a message') === 0) {
                usleep(500); // nobody has subscribed yet
            }
            usleep(20_000);
        }]);
    },
];

$check = static function () use ($redis): ?string {
    try {
        $found = [
            $redis->get('howdah-cut'),
            $redis->multi()->set('howdah-cut-3', '3')->get('howdah-cut-3')->exec(),
            $redis->pipeline()->get('howdah-cut')->strlen('howdah-cut')->exec(),
            $redis->getDBNum(),
        ];
    } catch (Throwable $thrown) {
        return $thrown->getMessage();
    }
    return $found === ['eleven byte', [true, '3'], ['eleven byte', 11], 1] ? null : json_encode($found);
};

while (frankenphp_handle_request(static function () use ($proxy, $redis, $publisher, &$mangled, $calls, $check) {
    switch ($_GET['how']) {
        case 'proxy':
            $proxy->run(getenv('HOWDAH_TEST_REDIS'));
            return;
        case 'connect':
            while ($proxy->address === '') {
                usleep(1000);
            }
            [$host, $port] = explode(':', $proxy->address);
            $redis->connect($host, (int) $port);
            $redis->select(1); // for this request: phpredis 6 makes what Howdah restores when it makes the object
            $publisher->connect(...explode(':', getenv('HOWDAH_TEST_REDIS')));
            $redis->set('howdah-cut', 'eleven byte');
            $redis->zAdd('howdah-cut-scores', 1, 'one', 2, 'two');
            $redis->hMSet('howdah-cut-fields', ['a' => '1', 'b' => '$2']);
            $redis->geoAdd('howdah-cut-places', 13.4, 52.5, 'Berlin', 11.6, 48.1, 'München');
            $redis->del('howdah-cut-entries');
            $redis->xAdd('howdah-cut-entries', '*', ['field' => 'value']);
            $redis->sAdd('howdah-cut-set', 'a', 'b');
            echo 'connected';
            return;
        case 'cut':
        case 'close':
            $redis->select(1);
            foreach ($calls as $name => $call) {
                $proxy->cutAfter(null);
                try {
                    Howdah\timeout(match ($name) {
                        'subscribe' => 0.02,
                        'message' => 0.2,
                        default => 5,
                    }, $call);
                } catch (Howdah\TimeoutException) {
                }
                $bytes = $proxy->passed;
                if ($bytes < 4) {
                    echo "$name: no result\n";
                }
                for ($limit = 0; $limit < $bytes; $limit++) {
                    $proxy->cutAfter($limit, $_GET['how'] === 'close');
                    try {
                        $result = Howdah\timeout(0.01, $call);
                        if (!in_array($name, ['subscribe', 'message'], true) && $_GET['how'] === 'cut') {
                            echo "$name cut after $limit of $bytes: ", json_encode($result), "\n";
                        }
                    } catch (Howdah\TimeoutException | RedisException) {
                    }
                    $proxy->cutAfter(null);
                    if ($redis->getMode() !== Redis::ATOMIC) {
                        $redis->discard(); // the time was over between two calls
                    }
                    if ($wrong = $check()) {
                        echo "after $name cut after $limit of $bytes: $wrong\n";
                    }
                }
            }
            echo $mangled ? "mangled message $mangled" : $_GET['how'];
            return;
        case 'leave':
            $redis->select(1);
            $proxy->cutAfter(12);
            echo 'begin';
            flush();
            $redis->multi()->set('howdah-cut-2', '2')->get('howdah-cut')->exec();
            echo 'not cut';
            return;
        case 'check':
            $proxy->cutAfter(null);
            $redis->select(1);
            echo $check() ?? 'right';
            return;
        case 'stop':
            $proxy->stop = true;
            echo 'stopped';
    }
})) {
}
--INI--
howdah.pool_wait=20
output_buffering=0
--HOWDAH--
option concurrency 6
worker {ROOT}/test.php
var QUERY_STRING how=proxy
push proxy
var QUERY_STRING how=connect
push connect
await connect
var QUERY_STRING how=cut
push cut
await cut
var QUERY_STRING how=close
push close
await close
var QUERY_STRING how=leave
push leave
await-body leave begin
leave leave
await leave
var QUERY_STRING how=check
push check
await check
var QUERY_STRING how=stop
push stop
await all
stop
--EXPECT--
connect: connected
cut: cut
close: close
leave: begin
check: right
stop: stopped
proxy: 
