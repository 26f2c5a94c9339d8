--TEST--
The worker's surroundings: signals, descriptors that children get, standard input, title
--FILE--
<?php
$status = file_get_contents('/proc/self/status');
preg_match('/SigBlk:\s*(\w+)/', $status, $blocked);
preg_match('/SigIgn:\s*(\w+)/', $status, $ignored);
echo 'blocked ', hexdec($blocked[1]), ', ignored ', (hexdec($ignored[1]) & 0x7fffffff) === 1 << (SIGPIPE - 1) ? 'SIGPIPE' : $ignored[1], "\n";
// The script itself is open while it is compiled, by PHP.
$inherited = preg_grep('#/dev/null|pipe:|\.php$|/proc/#', explode("\n", trim(shell_exec('readlink /proc/self/fd/*'))), PREG_GREP_INVERT);
echo 'children inherit ', json_encode($inherited), "\n";
echo 'input ', explode(':', readlink('/proc/self/fd/0'))[0], ' at its end: ', json_encode(file_get_contents('php://stdin')), ', ', str_contains(file_get_contents('/proc/self/maps'), 'memfd:howdah-test') ? 'mapped' : '', ' ';
echo count(array_filter(scandir('/proc/self/fd'), fn ($fd) => str_contains((string) @readlink("/proc/self/fd/$fd"), 'memfd:howdah'))), "\n";
echo trim(file_get_contents('/proc/self/cmdline'), "\0"), "\n";
echo trim(file_get_contents('/proc/' . posix_getppid() . '/cmdline'), "\0");
$zygote = file_get_contents('/proc/' . posix_getppid() . '/status');
preg_match('/SigIgn:\s*\w*(\w{8})\n/', $zygote, $ignored);
// All but faults, job control that goes on, and what does nothing anyway.
$passed = ['SIGILL', 'SIGTRAP', 'SIGABRT', 'SIGBUS', 'SIGFPE', 'SIGSEGV', 'SIGSYS', 'SIGKILL', 'SIGSTOP', 'SIGCONT', 'SIGCHLD', 'SIGURG', 'SIGWINCH'];
$wanted = array_diff(range(1, 31), array_map(constant(...), $passed));
$found = array_filter(range(1, 31), fn ($signal) => hexdec($ignored[1]) >> ($signal - 1) & 1);
echo "\nzygote ignores ", array_values($found) === array_values($wanted) ? 'what comes from outside' : json_encode($found);
echo "\n", posix_getsid(0) === posix_getsid(posix_getppid()) ? 'one session' : 'other sessions';
--EXPECT--
blocked 0, ignored SIGPIPE
children inherit []
input pipe at its end: "", mapped 0
howdah: test worker 0
howdah: pool test
zygote ignores what comes from outside
one session
