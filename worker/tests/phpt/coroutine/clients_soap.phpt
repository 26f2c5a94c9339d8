--TEST--
Coroutines: one SoapClient for all requests: each has its own response, and that of its last request is refused if another one used the client since
--SKIPIF--
<?php
if (!extension_loaded('soap')) {
    echo 'skip soap is not loaded';
}
--INI--
howdah.pool_wait=60
--FILE--
<?php
file_put_contents(__DIR__ . '/server.php', <<<'PHP'
    <?php
    /* Each connection in turn, kept; the answers are late. */
    $s = stream_socket_server('tcp://127.0.0.1:0');
    fwrite(STDOUT, stream_socket_get_name($s, false) . "\n");
    fclose(STDOUT);
    $soap = new SoapServer(null, ['uri' => 'urn:howdah']);
    $soap->setObject(new class () {
        public function say(int $n): string
        {
            usleep(3000);
            return "you said $n";
        }
    });
    while ($c = @stream_socket_accept($s, 60)) {
        while (($line = fgets($c)) !== false) {
            $length = 0;
            while (($line = trim(fgets($c))) !== '') {
                sscanf(strtolower($line), 'content-length: %d', $length);
            }
            ob_start();
            $soap->handle(stream_get_contents($c, $length));
            $xml = ob_get_clean();
            $head = "HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nContent-Length: " . strlen($xml);
            fwrite($c, "$head\r\n\r\n$xml");
        }
        fclose($c);
    }
    PHP);
$client = $server = null;
howdah_after_fork(static function () use (&$client, &$server) {
    $server = proc_open([PHP_BINDIR . '/php', __DIR__ . '/server.php'], [1 => ['pipe', 'w']], $pipes);
    $location = 'http://' . trim(fgets($pipes[1]));
    $client = new SoapClient(null, ['location' => $location, 'uri' => 'urn:howdah', 'trace' => true]);
});
while (frankenphp_handle_request(static function () use (&$client) {
    $n = (int) $_GET['n'];
    $wrong = [];
    for ($i = 0; $i < 5; $i++) {
        $said = $client->say(10 * $n + $i);
        if ($said !== 'you said ' . (10 * $n + $i)) {
            $wrong[] = $said;
        }
        // Nobody came between.
        if (!str_contains($client->__getLastRequest(), '>' . (10 * $n + $i) . '<')) {
            $wrong[] = $client->__getLastRequest();
        }
        usleep(1000);
    }
    try {
        usleep(20_000);
        if (!str_contains($client->__getLastResponse(), 'you said ' . (10 * $n + 4))) {
            $wrong[] = $client->__getLastResponse();
        }
    } catch (Howdah\SharedClientException) {
        // Another one's.
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
