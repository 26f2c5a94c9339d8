--TEST--
Coroutines: a socket and pipes that several requests use: calls wait in turn, a dialogue is one request's until it ends
--INI--
howdah.pool_wait=60
--FILE--
<?php
/* Two processes that answer each line late: over pipes, and over a socket. */
$code = 'while (($l = fgets(STDIN)) !== false) { usleep(2000); fwrite(STDOUT, "answer to $l"); }';
file_put_contents(__DIR__ . '/server.php', "<?php $code");
$clients = $processes = [];
howdah_after_fork(static function () use (&$clients, &$processes) {
    $command = [trim(shell_exec('command -v php')), '-n', __DIR__ . '/server.php'];
    $processes[] = proc_open($command, [['pipe', 'r'], ['pipe', 'w']], $clients[]);
    [$ours, $theirs] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
    $processes[] = proc_open($command, [$theirs, $theirs], $none);
    $clients[] = [$ours, $ours];
});
while (frankenphp_handle_request(static function () use (&$clients) {
    $n = (int) $_GET['n'];
    [$write, $read] = $clients[$n % 2];
    $wrong = [];
    for ($i = 0; $i < 5; $i++) {
        fwrite($write, "$n $i\n");
        usleep(500);
        $line = fgets($read);
        if ($line !== "answer to $n $i\n") {
            $wrong[] = $line;
        }
    }
    echo $wrong ? implode(' ', $wrong) : 'right';
})) {
}
--HOWDAH--
show exit
option concurrency 10
worker {ROOT}/test.php
var QUERY_STRING n=0
var REQUEST_URI /0
push r0
await all
var QUERY_STRING n=9
var REQUEST_URI /9
push r9
await all
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
await all
stop
--EXPECTREGEX--
(r\d+: right\n){10}\[worker exited with status 0\]
