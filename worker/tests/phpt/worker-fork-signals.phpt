--TEST--
Worker mode: handlers and blocked signals of the boot are there in each worker, and the zygote sees its children end
--FILE--
<?php
$got = [];
pcntl_signal(SIGTERM, static function (int $signal) use (&$got) { $got[] = $signal; });
pcntl_signal(SIGHUP, SIG_IGN);
pcntl_signal(SIGCHLD, SIG_IGN);
pcntl_sigprocmask(SIG_BLOCK, [SIGUSR1]);
while (frankenphp_handle_request(static function () use (&$got) {
    $got = [];
    posix_kill(getmypid(), SIGTERM);
    posix_kill(getmypid(), SIGHUP);
    posix_kill(getmypid(), SIGUSR1);
    pcntl_signal_dispatch();
    echo json_encode([$got, pcntl_sigtimedwait([SIGUSR1], $info, 1), pcntl_signal_get_handler(SIGCHLD)]);
})) {
}
--HOWDAH--
show exit
worker {ROOT}/test.php
max-requests 1
run
wait-exit
respawn
run
wait-exit
--EXPECT--
[[15],10,1]
[worker exited with status 0]
[[15],10,1]
[worker exited with status 0]
