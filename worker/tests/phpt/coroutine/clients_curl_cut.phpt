--TEST--
Coroutines: transfers that a request leaves in a shared multi handle of curl are not another request's
--SKIPIF--
<?php
if (!extension_loaded('curl')) {
    echo 'skip curl is not loaded';
}
--FILE--
<?php
file_put_contents(__DIR__ . '/server.php', <<<'PHP'
    <?php
    /* A tiny HTTP server; what is asked for /slow has its response with the next other one. */
    $server = stream_socket_server('tcp://127.0.0.1:0');
    fwrite(STDOUT, stream_socket_get_name($server, false) . "\n");
    fclose(STDOUT);
    $slow = [];
    function respond($one, string $path): void
    {
        @fwrite($one, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: " . strlen($path) . "\r\n\r\n$path");
    }
    while ($one = @stream_socket_accept($server, 60)) {
        [, $path] = explode(' ', fgets($one));
        while (trim(fgets($one)) !== '');
        if ($path === '/slow') {
            $slow[] = $one;
            continue;
        }
        array_map(static fn ($one) => respond($one, '/slow'), $slow);
        $slow = [];
        respond($one, $path);
    }
    PHP);
$multi = $address = $server = null;
howdah_after_fork(static function () use (&$multi, &$address, &$server) {
    $server = proc_open([PHP_BINDIR . '/php', '-n', __DIR__ . '/server.php'], [1 => ['pipe', 'w']], $pipes);
    $address = 'http://' . trim(fgets($pipes[1]));
    $multi = curl_multi_init();
});
$perform = static function (string $path) use (&$multi, &$address): array {
    $handle = curl_init("$address$path");
    curl_setopt($handle, CURLOPT_RETURNTRANSFER, true);
    curl_multi_add_handle($multi, $handle);
    do {
        curl_multi_exec($multi, $running);
        curl_multi_select($multi, 0.01);
    } while ($running);
    $found = [];
    while ($message = curl_multi_info_read($multi)) {
        $found[] = curl_multi_getcontent($message['handle']);
    }
    curl_multi_remove_handle($multi, $handle);
    return $found;
};
while (frankenphp_handle_request(static function () use ($perform) {
    if ($_GET['how'] === 'check') {
        echo implode(' ', $perform('/right'));
        return;
    }
    try {
        Howdah\timeout(0.05, static fn () => $perform('/slow'));
    } catch (Howdah\TimeoutException) {
        echo 'cut';
    }
    $_GET['how'] === 'exit' && exit;
})) {
}
proc_terminate($server);
--INI--
howdah.pool_wait=20
--HOWDAH--
option concurrency 4
worker {ROOT}/test.php
var QUERY_STRING how=cut
push cut
await cut
var QUERY_STRING how=check
push after-cut
await after-cut
var QUERY_STRING how=exit
push exit
await exit
var QUERY_STRING how=check
push after-exit
await after-exit
stop
--EXPECT--
cut: cut
after-cut: /right
exit: cut
after-exit: /right
