--TEST--
Coroutines: a message of a server that refused a request's login is not shown to the next request
--EXTENSIONS--
pcntl
pdo
pdo_dblib
--FILE--
<?php
// Speaks enough of TDS 4.2: refuses the login of "secret" with a message, accepts others, and leaves at their command.
$server = stream_socket_server('tcp://127.0.0.1:0');
$address = explode(':', stream_socket_get_name($server, false));
if (pcntl_fork() === 0) {
    while ($client = stream_socket_accept($server, 20)) {
        $login = fread($client, 4096);
        $text = 'Login of secret failed';
        $message = pack('VCC', 4002, 1, 14) . pack('v', strlen($text)) . $text . "\0\0" . pack('v', 1);
        $refused = "\xAA" . pack('v', strlen($message)) . $message . "\xFD" . pack('vvV', 2, 0, 0);
        $name = "\x01\x04\x02\x00\x00\x04test\x01\x00\x00\x00";
        $accepted = "\xAD" . pack('v', strlen($name)) . $name . "\xFD" . pack('vvV', 0, 0, 0);
        $answer = str_contains($login, 'secret') ? $refused : $accepted;
        fwrite($client, "\x04\x01" . pack('n', 8 + strlen($answer)) . "\0\0\0\0" . $answer);
        if (!str_contains($login, 'secret')) {
            fread($client, 4096);
        }
        fclose($client);
    }
    exit;
}
fclose($server);
while (frankenphp_handle_request(static function () use ($address) {
    try {
        $pdo = new PDO("dblib:host=$address[0]:$address[1];version=4.2", $_GET['user'], 'x');
        $pdo->setAttribute(PDO::ATTR_ERRMODE, PDO::ERRMODE_SILENT);
        $pdo->exec('x');
        echo 'connected, ', $pdo->errorInfo()[2];
    } catch (PDOException $e) {
        echo 'refused ', $e->getMessage();
    }
})) {
}
--HOWDAH--
option concurrency 2
worker {ROOT}/test.php
var QUERY_STRING user=secret
push one
await one
var QUERY_STRING user=other
push two
await two
stop
--EXPECTF--
one: refused SQLSTATE[01002] Adaptive Server connection failed (127.0.0.1) (severity 9)
two: connected, DBPROCESS is dead or not enabled [20047] (severity 9) []
