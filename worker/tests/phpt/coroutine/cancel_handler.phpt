--TEST--
Coroutines: code that is cancelled in a handler of a database's warnings is unwound, though an exception follows them
--SKIPIF--
<?php
if (!extension_loaded('pdo_mysql') || !extension_loaded('mysqli')) {
    echo 'skip pdo_mysql or mysqli is not loaded';
}
--FILE--
<?php
$server = stream_socket_server('tcp://127.0.0.1:0'); // which says nothing
$port = (int) substr(strrchr(stream_socket_get_name($server, false), ':'), 1);
$connect = [
    'PDO' => static fn () => new PDO("mysql:host=127.0.0.1;port=$port"),
    'mysqli' => static fn () => new mysqli('127.0.0.1', '', '', '', $port),
];

// An exception is the caller's own where another coroutine of the request is unwound meanwhile.
$ownException = static function (): void {
    $closing = stream_socket_server('tcp://127.0.0.1:0');
    $port = substr(strrchr(stream_socket_get_name($closing, false), ':'), 1);
    $cancelled = Howdah\spawn(static fn () => usleep(60_000_000));
    Howdah\spawn(static function () use ($closing, $cancelled): void {
        $client = stream_socket_accept($closing);
        $cancelled->cancel();
        usleep(1000); // until it is unwound
        fclose($client);
    });
    try {
        new PDO("mysql:host=127.0.0.1;port=$port");
        echo ' connected';
    } catch (PDOException) {
        echo ' caught';
    }
};

while (frankenphp_handle_request(static function () use ($connect, $ownException): void {
    set_error_handler(static function () use (&$handled): bool {
        $handled = 'to its end'; // it is unwound at its start
        return true;
    });
    foreach ($connect as $name => $new) {
        try {
            Howdah\timeout(0.02, static function () use ($name, $new): void {
                try {
                    $new();
                } catch (Throwable $exception) {
                    echo "$name: caught ", $exception::class, "\n";
                }
                echo "$name: went on\n";
            });
        } catch (Howdah\TimeoutException) {
        }
        usleep(1000); // until it is
    }
    echo $handled ?? 'unwound';
    set_error_handler(static fn (): bool => true);
    $ownException();
})) {
}
--HOWDAH--
option concurrency 2
worker {ROOT}/test.php
run
run
stop
--EXPECT--
unwound caught
unwound caught
