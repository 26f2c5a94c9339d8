--TEST--
Coroutines: functions that change the process for all requests are refused, except in the boot and in a child process
--EXTENSIONS--
pcntl
posix
--FILE--
<?php
$priority = pcntl_getpriority();
$boot = json_encode(pcntl_setpriority($priority + 1));
$set = pcntl_getpriority();
$limit = posix_getrlimit()['soft openfiles'];
while (frankenphp_handle_request(static function () use ($priority, $set, $boot, $limit) {
    echo "boot: $boot";
    set_error_handler(static function (int $type, string $message) {
        echo "\n$message";
        return true;
    });
    $results = [
        proc_nice(1), pcntl_setpriority($priority + 2), pcntl_setpriority($priority + 2, getmypid()),
        posix_setrlimit(POSIX_RLIMIT_NOFILE, 64, 64), posix_seteuid(posix_geteuid()), posix_setpgid(0, 0), posix_setsid(),
        pcntl_exec('/bin/false'),
    ];
    echo "\n", json_encode($results);
    echo pcntl_getpriority() === $set ? ' same priority, ' : ' PRIORITY, ';
    echo posix_getrlimit()['soft openfiles'] === $limit ? 'same limit' : 'LIMIT';
    $child = pcntl_fork();
    if ($child === 0) {
        proc_nice(1);
        pcntl_exec('/bin/sh', ['-c', 'exit 7']);
    }
    pcntl_waitpid($child, $status);
    echo "\nchild: ", pcntl_wexitstatus($status);
})) {
}
--HOWDAH--
option concurrency 2
worker {ROOT}/test.php
push one
await one
push two
await two
stop
--EXPECT--
one: boot: true
proc_nice(): Affects all requests of the process, so it is not available with concurrency
pcntl_setpriority(): Affects all requests of the process, so it is not available with concurrency
pcntl_setpriority(): Affects all requests of the process, so it is not available with concurrency
posix_setrlimit(): Affects all requests of the process, so it is not available with concurrency
posix_seteuid(): Affects all requests of the process, so it is not available with concurrency
posix_setpgid(): Affects all requests of the process, so it is not available with concurrency
posix_setsid(): Affects all requests of the process, so it is not available with concurrency
pcntl_exec(): Affects all requests of the process, so it is not available with concurrency
[false,false,false,false,false,false,-1,false] same priority, same limit
child: 7
two: boot: true
proc_nice(): Affects all requests of the process, so it is not available with concurrency
pcntl_setpriority(): Affects all requests of the process, so it is not available with concurrency
pcntl_setpriority(): Affects all requests of the process, so it is not available with concurrency
posix_setrlimit(): Affects all requests of the process, so it is not available with concurrency
posix_seteuid(): Affects all requests of the process, so it is not available with concurrency
posix_setpgid(): Affects all requests of the process, so it is not available with concurrency
posix_setsid(): Affects all requests of the process, so it is not available with concurrency
pcntl_exec(): Affects all requests of the process, so it is not available with concurrency
[false,false,false,false,false,false,-1,false] same priority, same limit
child: 7
