--TEST--
Coroutines: one curl handle and one multi handle for all requests: each request's transfer is its own
--SKIPIF--
<?php
if (!extension_loaded('curl')) {
    echo 'skip curl is not loaded';
}
--INI--
howdah.pool_wait=60
--FILE--
<?php
file_put_contents(__DIR__ . '/server.php', <<<'PHP'
    <?php
    /* A tiny HTTP server, each connection in turn; its answer is late. */
    $s = stream_socket_server('tcp://127.0.0.1:0');
    fwrite(STDOUT, stream_socket_get_name($s, false) . "\n");
    fclose(STDOUT);
    while ($c = @stream_socket_accept($s, 60)) {
        [, $path] = explode(' ', fgets($c));
        while (trim(fgets($c)) !== '');
        usleep(3000);
        fwrite($c, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: " . strlen("you asked $path") . "\r\n\r\nyou asked $path");
        fclose($c);
    }
    PHP);
$curl = $multi = $address = $server = null;
howdah_after_fork(static function () use (&$curl, &$multi, &$address, &$server) {
    $server = proc_open([trim(shell_exec('command -v php')), '-n', __DIR__ . '/server.php'], [1 => ['pipe', 'w']], $pipes);
    $address = 'http://' . trim(fgets($pipes[1]));
    $curl = curl_init();
    $multi = curl_multi_init();
});
while (frankenphp_handle_request(static function () use (&$curl, &$multi, &$address) {
    $n = (int) $_GET['n'];
    $wrong = [];
    for ($i = 0; $i < 3; $i++) {
        curl_setopt_array($curl, [CURLOPT_URL => "$address/$n/$i", CURLOPT_RETURNTRANSFER => true]);
        usleep(1000);
        $body = curl_exec($curl);
        if ($body !== "you asked /$n/$i" || !str_ends_with(curl_getinfo($curl, CURLINFO_EFFECTIVE_URL), "/$n/$i")) {
            $wrong[] = $body;
        }
    }
    curl_reset($curl); // another one may have it now
    $mine = curl_init("$address/own/$n");
    curl_setopt($mine, CURLOPT_RETURNTRANSFER, true);
    curl_multi_add_handle($multi, $mine);
    do {
        curl_multi_exec($multi, $running);
        curl_multi_select($multi, 0.01);
        usleep(500);
    } while (curl_multi_getcontent($mine) !== "you asked /own/$n" && $running);
    if (curl_multi_getcontent($mine) !== "you asked /own/$n") {
        $wrong[] = curl_multi_getcontent($mine);
    }
    curl_multi_remove_handle($multi, $mine);
    echo $wrong ? "$n: " . implode(', ', $wrong) : 'right';
})) {
}
proc_terminate($server);
--HOWDAH--
show exit
option concurrency 10
worker {ROOT}/test.php
var QUERY_STRING n=1
var REQUEST_URI /1
push r1
var QUERY_STRING n=2
var REQUEST_URI /2
push r2
var QUERY_STRING n=3
var REQUEST_URI /3
push r3
var QUERY_STRING n=4
var REQUEST_URI /4
push r4
var QUERY_STRING n=5
var REQUEST_URI /5
push r5
var QUERY_STRING n=6
var REQUEST_URI /6
push r6
var QUERY_STRING n=7
var REQUEST_URI /7
push r7
var QUERY_STRING n=8
var REQUEST_URI /8
push r8
var QUERY_STRING n=9
var REQUEST_URI /9
push r9
var QUERY_STRING n=10
var REQUEST_URI /10
push r10
await all
stop
--EXPECTREGEX--
(r\d+: right\n){10}\[worker exited with status 0\]
