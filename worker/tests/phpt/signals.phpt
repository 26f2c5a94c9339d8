--TEST--
A worker passes over signals without a meaning, its forks and scripts with handlers do not; SIGQUIT has it replaced
--SKIPIF--
<?php
if (!extension_loaded('pcntl')) {
    echo 'skip pcntl is not loaded';
}
--FILE--
<?php
$without = [SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGIO, SIGPWR, SIGSTKFLT, SIGXFSZ, SIGPIPE, SIGURG, 64];
foreach ($without as $signal) {
    posix_kill(getmypid(), $signal);
}
echo 'still here', "\n";
$child = pcntl_fork();
if ($child === 0) {
    posix_kill(getmypid(), SIGUSR1);
    exit(3);
}
pcntl_waitpid($child, $status);
echo 'fork ', pcntl_wifsignaled($status) && pcntl_wtermsig($status) === SIGUSR1 ? 'ended by it' : 'lives', "\n";
echo trim(shell_exec('kill -USR1 $$; echo alive') ?? 'program ended by it'), "\n";
pcntl_signal(SIGUSR2, function () { echo 'handled', "\n"; });
posix_kill(getmypid(), SIGUSR2);
pcntl_signal_dispatch();
posix_kill(getmypid(), SIGQUIT);
echo 'to its end';
--HOWDAH--
show state
run
run
--EXPECT--
still here
fork ended by it
program ended by it
handled
to its end
[state] ready
[state] retiring
still here
fork ended by it
program ended by it
handled
to its end
[state] retiring
