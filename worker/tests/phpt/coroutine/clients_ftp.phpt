--TEST--
Coroutines: one FTP connection for all requests: each gets the replies to its own commands
--SKIPIF--
<?php
if (!extension_loaded('ftp')) {
    echo 'skip ftp is not loaded';
}
--INI--
howdah.pool_wait=60
--FILE--
<?php
file_put_contents(__DIR__ . '/server.php', <<<'PHP'
    <?php
    /* The commands that the test needs, of one connection; the answers are late. */
    $s = stream_socket_server('tcp://127.0.0.1:0');
    fwrite(STDOUT, stream_socket_get_name($s, false) . "\n");
    fclose(STDOUT);
    $c = stream_socket_accept($s, 60);
    fwrite($c, "220 here\r\n");
    while (($line = fgets($c)) !== false) {
        [$command, $argument] = explode(' ', trim($line), 2) + [1 => ''];
        usleep(2000);
        fwrite($c, match ($command) {
            'USER' => "331 and the password\r\n",
            'PASS' => "230 come in\r\n",
            'TYPE' => "200 as you like\r\n",
            'SIZE' => "213 " . (1000 + (int) trim($argument, '/')) . "\r\n",
            default => "502 no $command\r\n",
        });
    }
    PHP);
$ftp = $server = null;
howdah_after_fork(static function () use (&$ftp, &$server) {
    $server = proc_open([PHP_BINDIR . '/php', '-n', __DIR__ . '/server.php'], [1 => ['pipe', 'w']], $pipes);
    [$host, $port] = explode(':', trim(fgets($pipes[1])));
    $ftp = ftp_connect($host, (int) $port);
    ftp_login($ftp, 'one', 'two');
});
while (frankenphp_handle_request(static function () use (&$ftp) {
    $n = (int) $_GET['n'];
    $wrong = [];
    for ($i = 0; $i < 5; $i++) {
        $size = ftp_size($ftp, '/' . (10 * $n + $i));
        if ($size !== 1000 + 10 * $n + $i) {
            $wrong[] = $size;
        }
        usleep(1000);
    }
    echo $wrong ? "$n: " . implode(', ', $wrong) : 'right';
})) {
}
proc_terminate($server);
--HOWDAH--
show exit
option concurrency 8
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
await all
stop
--EXPECTREGEX--
(r\d+: right\n){8}\[worker exited with status 0\]
