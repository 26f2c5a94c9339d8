--TEST--
Coroutines: a program inherits what its own request has open, and nothing of others, of the boot or of earlier requests
--SKIPIF--
<?php
foreach (['pcntl', 'sockets'] as $name) {
    if (!extension_loaded($name)) {
        echo "skip $name is not loaded";
    }
}
--FILE--
<?php
file_put_contents(__DIR__ . '/list.sh', <<<'SH'
#!/bin/sh
ls -l /proc/self/fd >"$0.$$"
sed -n 's/.* -> .*\/\([a-z]*\.txt\)$/\1/p; s/.* \([3-9]\|[0-9][0-9]\+\) -> \(socket\|pipe\):.*/\2/p' "$0.$$" | sort | tr '\n' ' '
echo .
SH);
file_put_contents(__DIR__ . '/mail.sh', "#!/bin/sh\n'" . __DIR__ . "/list.sh' >'" . __DIR__ . "/mail.out'\ncat >/dev/null\n");
chmod(__DIR__ . '/list.sh', 0755);
chmod(__DIR__ . '/mail.sh', 0755);
foreach (['other', 'own', 'boot', 'early', 'log'] as $name) {
    touch(__DIR__ . "/$name.txt");
}
define('LISTING', escapeshellarg(__DIR__ . '/list.sh'));
$boot = [fopen(__DIR__ . '/boot.txt', 'r'), stream_socket_server('tcp://127.0.0.1:0'), socket_create(AF_INET, SOCK_DGRAM, 0)];
$kept = new stdClass();
$ways = [
    'shell_exec' => static fn () => shell_exec(LISTING),
    'exec' => static fn () => exec(LISTING) . "\n",
    'system' => static fn () => system(LISTING) ? '' : 'failed',
    'popen' => static function () {
        $pipe = popen(LISTING, 'r');
        return stream_get_contents($pipe) . (pclose($pipe) ? 'failed' : '');
    },
    'proc_open' => static function () {
        $process = proc_open(LISTING, [1 => ['pipe', 'w']], $pipes);
        return stream_get_contents($pipes[1]) . (proc_close($process) ? 'failed' : '');
    },
    'proc_open, array' => static function () {
        $process = proc_open([__DIR__ . '/list.sh'], [1 => ['pipe', 'w'], 9 => fopen(__DIR__ . '/log.txt', 'r')], $pipes);
        return stream_get_contents($pipes[1]) . (proc_close($process) ? 'failed' : '');
    },
    'mail' => static fn () => mail('a@example.test', 'subject', 'body') ? file_get_contents(__DIR__ . '/mail.out') : 'failed',
    'fork and exec' => static function () {
        if (!($child = pcntl_fork())) {
            pcntl_exec('/bin/sh', ['-c', LISTING . ' >' . escapeshellarg(__DIR__ . '/exec.out')]);
        }
        pcntl_waitpid($child, $status);
        return file_get_contents(__DIR__ . '/exec.out');
    },
    // It has the number of another's descriptors, and what is behind them is /dev/null.
    'fork' => static function () use ($kept) {
        if (!($child = pcntl_fork())) {
            $there = [];
            foreach (scandir('/proc/self/fd') as $fd) {
                $there[] = basename((string) @readlink("/proc/self/fd/$fd"));
            }
            $there = array_intersect(['other.txt', 'own.txt', 'boot.txt', 'early.txt', 'log.txt'], $there);
            file_put_contents(__DIR__ . '/fork.out', implode(' ', $there) . (fwrite($kept->log, 'x') ? '' : ' closed') . "\n");
            posix_kill(getmypid(), SIGKILL);
        }
        pcntl_waitpid($child, $status);
        return file_get_contents(__DIR__ . '/fork.out');
    },
];
while (frankenphp_handle_request(static function () use ($kept, $ways) {
    if ($_GET['n'] === 'early') {
        $kept->early = [fopen(__DIR__ . '/early.txt', 'r'), stream_socket_server('tcp://127.0.0.1:0')];
        return;
    }
    if ($_GET['n'] === 'other') {
        $kept->log = fopen(__DIR__ . '/log.txt', 'a');
        $held = [fopen(__DIR__ . '/other.txt', 'r'), stream_socket_server('tcp://127.0.0.1:0'), tmpfile(),
            stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0), socket_create(AF_INET, SOCK_STREAM, 0), popen('cat', 'w')];
        echo 'holds ';
        flush();
        while (!isset($kept->over)) {
            usleep(1000);
        }
        // A program that another request started has left its descriptors as they were.
        echo exec(LISTING);
        fclose($held[0]); // OPcache would remove the assignment of a variable that is never read
        return;
    }
    foreach ($ways as $name => $way) {
        echo "$name: ";
        echo $way();
    }
    $held = [fopen(__DIR__ . '/own.txt', 'r'), stream_socket_server('tcp://127.0.0.1:0')];
    foreach ($ways as $name => $way) {
        echo "with its own, $name: ";
        echo $way();
    }
    fclose($held[0]);
    $kept->over = true;
})) {}
--INI--
output_buffering=0
--HOWDAH--
option concurrency 4
arg -d
arg sendmail_path={ROOT}/mail.sh
worker {ROOT}/test.php
var QUERY_STRING n=early
run
var QUERY_STRING n=other
push other
await-body other holds
var QUERY_STRING n=program
push program
await program
await other
stop
--EXPECT--
program: shell_exec: .
exec: .
system: .
popen: .
proc_open: .
proc_open, array: log.txt log.txt .
mail: .
fork and exec: .
fork: boot.txt early.txt log.txt
with its own, shell_exec: own.txt socket .
with its own, exec: own.txt socket .
with its own, system: own.txt socket .
with its own, popen: own.txt socket .
with its own, proc_open: own.txt socket .
with its own, proc_open, array: log.txt log.txt own.txt socket .
with its own, mail: own.txt socket .
with its own, fork and exec: own.txt socket .
with its own, fork: own.txt boot.txt early.txt log.txt

other: holds log.txt other.txt socket socket socket socket .
