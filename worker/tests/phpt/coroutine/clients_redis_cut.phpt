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
ignore_user_abort(false);

$calls = [
    'plain' => static fn () => $redis->get('howdah-cut'),
    'list' => static fn () => $redis->mget(['howdah-cut', 'howdah-cut-none', 'howdah-cut']),
    'number' => static fn () => $redis->strlen('howdah-cut'),
    'multi' => static fn () => $redis->multi()->set('howdah-cut-2', '2')->get('howdah-cut')->exec(),
    'pipeline' => static fn () => $redis->pipeline()->get('howdah-cut')->strlen('howdah-cut')->exec(),
    'multi in pipeline' => static fn () => $redis->pipeline()->multi()->get('howdah-cut')->exec()->exec(),
    'subscribe' => static function () use ($redis) {
        try {
            $redis->subscribe(['howdah-cut'], static function () {
            });
        } catch (RedisException) {
        }
    },
];

$check = static function () use ($redis): ?string {
    $found = [
        $redis->get('howdah-cut'),
        $redis->multi()->set('howdah-cut-3', '3')->get('howdah-cut-3')->exec(),
        $redis->pipeline()->get('howdah-cut')->strlen('howdah-cut')->exec(),
        $redis->getDBNum(),
    ];
    return $found === ['eleven byte', [true, '3'], ['eleven byte', 11], 1] ? null : json_encode($found);
};

while (frankenphp_handle_request(static function () use ($proxy, $redis, $calls, $check) {
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
            $redis->select(1);
            $redis->set('howdah-cut', 'eleven byte');
            echo 'connected';
            return;
        case 'cut':
        case 'close':
            foreach ($calls as $name => $call) {
                $proxy->cutAfter(null);
                try {
                    Howdah\timeout($name === 'subscribe' ? 0.02 : 5, $call);
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
                        if ($name !== 'subscribe' && $_GET['how'] === 'cut') {
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
            echo $_GET['how'];
            return;
        case 'leave':
            $proxy->cutAfter(12);
            echo 'begin';
            flush();
            $redis->multi()->set('howdah-cut-2', '2')->get('howdah-cut')->exec();
            echo 'not cut';
            return;
        case 'check':
            $proxy->cutAfter(null);
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
