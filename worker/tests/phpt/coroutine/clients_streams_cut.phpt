--TEST--
Coroutines: a dialogue over a shared connection that a request leaves in its midst is not continued by another one
--SKIPIF--
<?php
foreach (['ftp', 'soap', 'sockets'] as $name) {
    if (!extension_loaded($name)) {
        echo "skip $name is not loaded";
    }
}
--FILE--
<?php
file_put_contents(__DIR__ . '/server.php', <<<'PHP'
    <?php
    /* Answers each line in two lines; if it says "slow" not before another connection has said "go". */
    $server = stream_socket_server('tcp://127.0.0.1:0');
    fwrite(STDOUT, stream_socket_get_name($server, false) . "\n");
    fclose(STDOUT);
    $all = $slow = [];
    while (true) {
        $read = [$server, ...$all];
        $none = null;
        if (!stream_select($read, $none, $none, 60)) {
            exit;
        }
        foreach ($read as $one) {
            if ($one === $server) {
                $all[] = stream_socket_accept($server);
            } elseif (($line = fgets($one)) === false) {
                unset($all[array_search($one, $all, true)]);
            } elseif (trim($line) === 'go') {
                array_map(static fn ($one) => @fwrite($one, "to slow\nend\n"), $slow);
                $slow = [];
                fwrite($one, "gone\nend\n");
            } elseif (trim($line) === 'slow') {
                $slow[] = $one;
            } else {
                fwrite($one, "to $line" . "end\n");
            }
        }
    }
    PHP);
file_put_contents(__DIR__ . '/ftp.php', <<<'PHP'
    <?php
    /* Of each connection the commands that the test needs; the reply to SIZE /slow comes when another one says GO. */
    $server = stream_socket_server('tcp://127.0.0.1:0');
    fwrite(STDOUT, stream_socket_get_name($server, false) . "\n");
    fclose(STDOUT);
    $all = $slow = [];
    while (true) {
        $read = [$server, ...$all];
        $none = null;
        if (!stream_select($read, $none, $none, 60)) {
            exit;
        }
        foreach ($read as $one) {
            if ($one === $server) {
                fwrite($all[] = stream_socket_accept($server), "220 here\r\n");
            } elseif (($line = fgets($one)) === false) {
                unset($all[array_search($one, $all, true)]);
            } elseif (trim($line) === 'SIZE /slow') {
                $slow[] = $one;
            } else {
                if (str_starts_with($line, 'GO')) {
                    array_map(static fn ($one) => @fwrite($one, "213 666\r\n"), $slow);
                    $slow = [];
                }
                fwrite($one, match (strtok($line, " \r\n")) {
                    'USER' => "331 and the password\r\n",
                    'PASS' => "230 come in\r\n",
                    'SIZE' => "213 1000\r\n",
                    default => "200 as you like\r\n",
                });
            }
        }
    }
    PHP);
file_put_contents(__DIR__ . '/soap.php', <<<'PHP'
    <?php
    /* Keeps connections; the response to slow() comes when another connection has called go(). */
    $server = stream_socket_server('tcp://127.0.0.1:0');
    fwrite(STDOUT, stream_socket_get_name($server, false) . "\n");
    fclose(STDOUT);
    $all = $slow = [];
    function respond($one, string $text): void
    {
        $xml = '<SOAP-ENV:Envelope xmlns:SOAP-ENV="http://schemas.xmlsoap.org/soap/envelope/"><SOAP-ENV:Body>'
            . "<r><return>$text</return></r></SOAP-ENV:Body></SOAP-ENV:Envelope>";
        @fwrite($one, "HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nContent-Length: " . strlen($xml) . "\r\n\r\n$xml");
    }
    while (true) {
        $read = [$server, ...$all];
        $none = null;
        if (!stream_select($read, $none, $none, 60)) {
            exit;
        }
        foreach ($read as $one) {
            if ($one === $server) {
                $all[] = stream_socket_accept($server);
                continue;
            }
            if (fgets($one) === false) {
                unset($all[array_search($one, $all, true)]);
                continue;
            }
            $length = 0;
            while (($line = trim(fgets($one))) !== '') {
                sscanf(strtolower($line), 'content-length: %d', $length);
            }
            $body = stream_get_contents($one, $length);
            if (str_contains($body, 'slow')) {
                $slow[] = $one;
                continue;
            }
            if (str_contains($body, ':go')) {
                array_map(static fn ($one) => respond($one, 'slow'), $slow);
                $slow = [];
            }
            respond($one, 'right');
        }
    }
    PHP);

$state = new stdClass();
howdah_after_fork(static function () use ($state) {
    $start = static function (string $file) use ($state): string {
        $state->servers[] = proc_open([PHP_BINDIR . '/php', __DIR__ . "/$file"], [1 => ['pipe', 'w']], $pipes);
        return trim(fgets($pipes[1]));
    };
    $line = explode(':', $start('server.php'));
    $ftp = explode(':', $start('ftp.php'));
    $soap = $start('soap.php');
    $state->connect = [
        'stream' => static fn () => stream_socket_client('tcp://' . implode(':', $line)),
        'socket' => static function () use ($line): Socket {
            $socket = socket_create(AF_INET, SOCK_STREAM, 0);
            socket_connect($socket, ...$line);
            return $socket;
        },
        'ftp' => static function () use ($ftp): FTP\Connection {
            $connection = ftp_connect(...$ftp);
            ftp_login($connection, 'one', 'two');
            return $connection;
        },
        'soap' => static fn () => new SoapClient(null, ['location' => "http://$soap", 'uri' => 'urn:howdah']),
    ];
    foreach ($state->connect as $kind => $connect) {
        foreach (['cut', 'leave', 'exit', 'throw', 'half', 'return'] as $end) {
            $state->clients[$kind][$end] = $connect();
        }
    }
});

$read = static fn ($client) => $client instanceof Socket ? socket_read($client, 100, PHP_NORMAL_READ) : fgets($client);
$ask = [
    'stream' => static fn ($client, string $what) => fwrite($client, "$what\n") ? [fgets($client), fgets($client)] : 0,
    'socket' => static fn ($client, string $what) => socket_write($client, "$what\n") ? [$read($client), $read($client)] : 0,
    'ftp' => static fn ($client, string $what) => ftp_size($client, "/$what"),
    'soap' => static fn ($client, string $what) => $client->$what(),
];
$right = [
    'stream' => ["to right\n", "end\n"],
    'socket' => ["to right\n", "end\n"],
    'ftp' => 1000,
    'soap' => 'right',
];

while (frankenphp_handle_request(static function () use ($state, $ask, $read, $right) {
    ['kind' => $kind, 'end' => $end] = $_GET;
    $client = $state->clients[$kind][$end];
    switch (isset($_GET['check']) ? 'check' : $end) {
        case 'check':
            // The response that the other one waited for is on its way, and in the connection if there still is one.
            $helper = $state->connect[$kind]();
            $kind === 'ftp' ? ftp_raw($helper, 'GO') : $ask[$kind]($helper, 'go');
            usleep(20_000);
            $found = @$ask[$kind]($client, 'right');
            // A client may have disconnected before the request was sent.
            echo match ($found) {
                $right[$kind] => $end === 'leave' ? 'gone' : 'right',
                0, -1, [false, false] => 'gone',
                default => json_encode($found),
            };
            return;
        case 'cut':
            try {
                Howdah\timeout(0.02, static fn () => @$ask[$kind]($client, 'slow'));
            } catch (Howdah\TimeoutException) {
                echo 'cut';
            }
            return;
        case 'leave':
            ignore_user_abort(false);
            echo 'begin';
            flush();
            $ask[$kind]($client, 'slow');
            return;
        case 'exit':
        case 'throw':
            $ask[$kind]($client, 'right'); // it is a dialogue
            $client instanceof Socket ? socket_write($client, "slow\n") : fwrite($client, "slow\n");
            echo $end;
            $end === 'exit' ? exit : throw new Exception('on purpose');
        case 'half':
            $client instanceof Socket ? socket_write($client, "old\n") : fwrite($client, "old\n");
            echo trim($read($client));
            exit;
        case 'return':
            $ask[$kind]($client, 'right');
            echo 'return';
    }
})) {
}
array_map(proc_terminate(...), $state->servers);
--INI--
howdah.pool_wait=20
output_buffering=0
display_errors=0
--HOWDAH--
option concurrency 4
worker {ROOT}/test.php
var QUERY_STRING kind=stream&end=cut
push stream-cut
await stream-cut
var QUERY_STRING kind=stream&end=cut&check
push stream-cut-check
await stream-cut-check
var QUERY_STRING kind=stream&end=leave
push stream-leave
await-body stream-leave begin
leave stream-leave
await stream-leave
var QUERY_STRING kind=stream&end=leave&check
push stream-leave-check
await stream-leave-check
var QUERY_STRING kind=stream&end=exit
push stream-exit
await stream-exit
var QUERY_STRING kind=stream&end=exit&check
push stream-exit-check
await stream-exit-check
var QUERY_STRING kind=stream&end=throw
push stream-throw
await stream-throw
var QUERY_STRING kind=stream&end=throw&check
push stream-throw-check
await stream-throw-check
var QUERY_STRING kind=stream&end=half
push stream-half
await stream-half
var QUERY_STRING kind=stream&end=half&check
push stream-half-check
await stream-half-check
var QUERY_STRING kind=stream&end=return
push stream-return
await stream-return
var QUERY_STRING kind=stream&end=return&check
push stream-return-check
await stream-return-check
var QUERY_STRING kind=socket&end=cut
push socket-cut
await socket-cut
var QUERY_STRING kind=socket&end=cut&check
push socket-cut-check
await socket-cut-check
var QUERY_STRING kind=socket&end=leave
push socket-leave
await-body socket-leave begin
leave socket-leave
await socket-leave
var QUERY_STRING kind=socket&end=leave&check
push socket-leave-check
await socket-leave-check
var QUERY_STRING kind=socket&end=exit
push socket-exit
await socket-exit
var QUERY_STRING kind=socket&end=exit&check
push socket-exit-check
await socket-exit-check
var QUERY_STRING kind=socket&end=throw
push socket-throw
await socket-throw
var QUERY_STRING kind=socket&end=throw&check
push socket-throw-check
await socket-throw-check
var QUERY_STRING kind=socket&end=half
push socket-half
await socket-half
var QUERY_STRING kind=socket&end=half&check
push socket-half-check
await socket-half-check
var QUERY_STRING kind=socket&end=return
push socket-return
await socket-return
var QUERY_STRING kind=socket&end=return&check
push socket-return-check
await socket-return-check
var QUERY_STRING kind=ftp&end=cut
push ftp-cut
await ftp-cut
var QUERY_STRING kind=ftp&end=cut&check
push ftp-cut-check
await ftp-cut-check
var QUERY_STRING kind=ftp&end=leave
push ftp-leave
await-body ftp-leave begin
leave ftp-leave
await ftp-leave
var QUERY_STRING kind=ftp&end=leave&check
push ftp-leave-check
await ftp-leave-check
var QUERY_STRING kind=soap&end=cut
push soap-cut
await soap-cut
var QUERY_STRING kind=soap&end=cut&check
push soap-cut-check
await soap-cut-check
var QUERY_STRING kind=soap&end=leave
push soap-leave
await-body soap-leave begin
leave soap-leave
await soap-leave
var QUERY_STRING kind=soap&end=leave&check
push soap-leave-check
await soap-leave-check
stop
--EXPECT--
stream-cut: cut
stream-cut-check: gone
stream-leave: begin
stream-leave-check: gone
stream-exit: exit
stream-exit-check: gone
stream-throw: throw
stream-throw-check: gone
stream-half: to old
stream-half-check: gone
stream-return: return
stream-return-check: right
socket-cut: cut
socket-cut-check: gone
socket-leave: begin
socket-leave-check: gone
socket-exit: exit
socket-exit-check: gone
socket-throw: throw
socket-throw-check: gone
socket-half: to old
socket-half-check: gone
socket-return: return
socket-return-check: right
ftp-cut: cut
ftp-cut-check: gone
ftp-leave: begin
ftp-leave-check: gone
soap-cut: cut
soap-cut-check: right
soap-leave: begin
soap-leave-check: gone
