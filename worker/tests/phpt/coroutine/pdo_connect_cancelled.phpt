--TEST--
Coroutines: a client that disconnects while a shared PDO object connects for its request unwinds it, without an exception of PDO
--SKIPIF--
<?php
if (!extension_loaded('pdo_mysql')) {
    echo 'skip pdo_mysql is not loaded';
} elseif (!getenv('HOWDAH_TEST_MYSQL')) {
    echo 'skip HOWDAH_TEST_MYSQL is not set, e.g. to "host=127.0.0.1 port=3306 user=test password=test dbname=test"';
}
--FILE--
<?php
preg_match_all('/(\w+)=(\S+)/', getenv('HOWDAH_TEST_MYSQL'), $found);
$server = array_combine($found[1], $found[2]);
$shared = new stdClass();

/** Passes on the first connection. The others wait for the server's greeting until their client gives up. */
function relay(stdClass $shared, string $target): void
{
    $listener = stream_socket_server('tcp://127.0.0.1:0');
    $shared->port = (int) explode(':', stream_socket_get_name($listener, false))[1];
    $client = stream_socket_accept($listener);
    $upstream = stream_socket_client("tcp://$target");
    $silent = [];
    while (!isset($shared->stop)) {
        $read = [$listener, $client, $upstream];
        if (!stream_select($read, $none, $none, 0, 20_000)) {
            continue;
        }
        foreach ($read as $ready) {
            if ($ready === $listener) {
                $silent[] = stream_socket_accept($listener);
                error_log('a second connection waits');
            } elseif (($bytes = fread($ready, 65536)) !== '' && $bytes !== false) {
                fwrite($ready === $client ? $upstream : $client, $bytes);
            }
        }
    }
}

ignore_user_abort(false); // a worker script begins with true
while (frankenphp_handle_request(static function () use ($shared, $server): void {
    switch ($_SERVER['QUERY_STRING']) {
        case 'relay':
            relay($shared, "{$server['host']}:{$server['port']}");
            return;
        case 'hold':
            while (!isset($shared->port)) {
                usleep(100);
            }
            $dsn = "mysql:host=127.0.0.1;port=$shared->port;dbname={$server['dbname']}";
            $shared->pdo = new PDO($dsn, $server['user'], $server['password']);
            $shared->pdo->beginTransaction();
            echo 'holds ';
            flush();
            while (!isset($shared->stop)) {
                usleep(100);
            }
            return;
        case 'leave':
            register_shutdown_function(static function () use ($shared): void {
                error_log('shutdown');
                $shared->stop = true;
            });
            echo 'begin ';
            flush();
            $shared->pdo->query('SELECT 1');
            error_log('goes on');
            return;
        default:
            echo 'the same process';
    }
})) {
}
--INI--
output_buffering=0
log_errors=1
--HOWDAH--
show exit log state
option concurrency 4
worker {ROOT}/test.php
var QUERY_STRING relay
push relay
var QUERY_STRING hold
push hold
await-body hold holds
var QUERY_STRING leave
push leave
await-body leave begin
wait-log a second connection waits
leave leave
wait-log shutdown
await hold
await relay
var QUERY_STRING last
run
stop
--EXPECT--
[state] ready
[log n 1] a second connection waits
[log n 3] shutdown
hold: holds 
relay: 
the same process
[worker exited with status 0]
