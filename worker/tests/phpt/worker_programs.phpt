--TEST--
Worker mode: a program inherits what its own request has open, and nothing of the boot or of earlier requests
--FILE--
<?php
file_put_contents(__DIR__ . '/list.sh', <<<'SH'
ls -l /proc/self/fd >"$0.$$"
sed -n 's/.* -> .*\/\([a-z]*\.txt\)$/\1/p; s/.* \([3-9]\|[0-9][0-9]\+\) -> \(socket\|pipe\):.*/\2/p' "$0.$$" | sort | tr '\n' ' '
SH);
foreach (['own', 'boot', 'early'] as $name) {
    touch(__DIR__ . "/$name.txt");
}
$boot = [fopen(__DIR__ . '/boot.txt', 'r'), stream_socket_server('tcp://127.0.0.1:0'), popen('cat', 'w')];
$kept = [];
while (frankenphp_handle_request(static function () use (&$kept) {
    if ($_GET['n'] === 'early') {
        $kept = [fopen(__DIR__ . '/early.txt', 'r'), stream_socket_server('tcp://127.0.0.1:0')];
    } else {
        $own = fopen(__DIR__ . '/own.txt', 'r');
    }
    echo shell_exec('sh ' . escapeshellarg(__DIR__ . '/list.sh'));
})) {}
--HOWDAH--
worker {ROOT}/test.php
var QUERY_STRING n=early
run
var QUERY_STRING n=own
run
stop
--EXPECT--
early.txt socket 
own.txt 
