--TEST--
Coroutines: a wait for any child returns one of its own request, and no other request loses the status of a program
--SKIPIF--
<?php
if (!extension_loaded('pcntl') || !extension_loaded('posix')) {
    echo 'skip pcntl or posix is not loaded';
}
--FILE--
<?php
foreach (['begin', 'end'] as $name) {
    exec("mkfifo $name");
}
// The child lives until somebody has opened the pipe.
$fork = static function (string $pipe): int {
    $pid = pcntl_fork();
    if ($pid === 0) {
        fopen($pipe, 'r');
        posix_kill(posix_getpid(), SIGKILL);
    }
    return $pid;
};
$wait = [
    'wait' => static fn (&$status) => pcntl_wait($status),
    'waitpid' => static fn (&$status) => pcntl_waitpid(-1, $status),
    'group' => static fn (&$status) => pcntl_waitpid(0, $status),
    'usage' => static fn (&$status) => pcntl_waitpid(-1, $status, 0, $usage),
];
$cases = [
    'waiter' => static function () use ($fork, $wait) {
        $none = pcntl_waitpid(-1, $status, WNOHANG); // others have children that have ended
        $pid = $fork('end');
        $early = pcntl_waitpid(-1, $status, WNOHANG);
        fopen('begin', 'w'); // lets the other request end its wait for us
        $found = $wait[$_GET['how']]($status);
        return [$none, $early, $found === $pid, pcntl_wtermsig($status), pcntl_wait($status), pcntl_get_last_error() === PCNTL_ECHILD];
    },
    'other' => static function () use ($fork) {
        $process = proc_open('exit 6', [], $pipes);
        $pipe = popen('exit 7', 'r');
        $pid = pcntl_fork();
        if ($pid === 0) {
            posix_kill(posix_getpid(), SIGTERM);
        }
        stream_get_contents($pipe);
        while (!str_contains(file_get_contents("/proc/$pid/stat"), ') Z ')) {
        }
        fopen('begin', 'r');
        fopen('end', 'w');
        return [proc_close($process), pclose($pipe), pcntl_waitpid($pid, $status) === $pid, pcntl_wtermsig($status)];
    },
];
while (frankenphp_handle_request(static function () use ($cases) {
    echo json_encode($cases[$_GET['me']]());
})) {}
--HOWDAH--
option concurrency 2
worker {ROOT}/test.php
var QUERY_STRING me=other
push other
var QUERY_STRING me=waiter&how=wait
push waiter
await waiter
await other
var QUERY_STRING me=other
push other
var QUERY_STRING me=waiter&how=waitpid
push waiter
await waiter
await other
var QUERY_STRING me=other
push other
var QUERY_STRING me=waiter&how=group
push waiter
await waiter
await other
var QUERY_STRING me=other
push other
var QUERY_STRING me=waiter&how=usage
push waiter
await waiter
await other
stop
--EXPECT--
waiter: [-1,0,true,9,-1,true]
other: [6,7,true,15]
waiter: [-1,0,true,9,-1,true]
other: [6,7,true,15]
waiter: [-1,0,true,9,-1,true]
other: [6,7,true,15]
waiter: [-1,0,true,9,-1,true]
other: [6,7,true,15]
