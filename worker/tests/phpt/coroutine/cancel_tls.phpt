--TEST--
Coroutines: a request that is cancelled while it reads from a TLS stream is ended
--SKIPIF--
<?php
if (!extension_loaded('openssl')) {
    echo 'skip openssl is not loaded';
}
--FILE--
<?php
$key = openssl_pkey_new(['private_key_type' => OPENSSL_KEYTYPE_EC, 'curve_name' => 'prime256v1']);
$request = openssl_csr_new(['commonName' => 'localhost'], $key, ['digest_alg' => 'sha256']);
$certificate = openssl_csr_sign($request, null, $key, 1, ['digest_alg' => 'sha256']);
openssl_pkey_export($key, $pem);
openssl_x509_export($certificate, $text);
file_put_contents(__DIR__ . '/server.pem', $pem . $text);
ignore_user_abort(false);
while (frankenphp_handle_request(static function () {
    $used = static function (): float {
        $usage = getrusage();
        return $usage['ru_utime.tv_sec'] + $usage['ru_stime.tv_sec'] +
            ($usage['ru_utime.tv_usec'] + $usage['ru_stime.tv_usec']) / 1e6;
    };
    $server = stream_socket_server('ssl://127.0.0.1:0', context: stream_context_create(['ssl' => [
        'local_cert' => __DIR__ . '/server.pem',
    ]]));
    $accepted = Howdah\spawn(static fn () => stream_socket_accept($server));
    $client = stream_socket_client('ssl://' . stream_socket_get_name($server, false), context: stream_context_create([
        'ssl' => ['verify_peer' => false, 'verify_peer_name' => false],
    ]));
    $silent = Howdah\await($accepted); // after the handshake
    $begun = $used();
    register_shutdown_function(static function () use ($used, $begun) {
        error_log($_GET['how'] . ($used() - $begun > 0.5 ? ' was in a loop' : ' was ended'));
    });
    Howdah\spawn(static function () {
        usleep(20_000); // until it reads
        echo 'begin';
        flush();
    });
    fgets($client);
    error_log('never runs');
})) {
}
--INI--
log_errors=1
output_buffering=0
default_socket_timeout=4
--HOWDAH--
show exit log
option concurrency 8
worker {ROOT}/test.php
var QUERY_STRING how=left
push left
await-body left begin
leave left
await left
var QUERY_STRING how=late
push late
await-body late begin
time-out late
await late
stop
--EXPECTREGEX--
left: begin
late: begin
\[log n 1\] left was ended
(\[log w \d+\] PHP backtrace of the request:\n(#\d+ [^\n]*\n)+)+\[log n 2\] late was ended
\[worker exited with status 0\]
