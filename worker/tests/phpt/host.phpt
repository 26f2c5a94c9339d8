--TEST--
Runs in PHP's own executable, which neither scripts nor their children notice; PHP_BINARY runs scripts
--FILE--
<?php
echo PHP_SAPI, ' ', preg_match('~/php[\d.]*$~', PHP_BINARY), ' ', shell_exec(escapeshellarg(PHP_BINARY) . " -n -r 'echo PHP_VERSION;'") === PHP_VERSION ? 'runs' : 'does not run', "\n";
echo json_encode([getenv('LD_PRELOAD'), $_SERVER['LD_PRELOAD'] ?? null]), ' ', trim(shell_exec('env | grep -c LD_PRELOAD')), "\n";
echo preg_match('~/php(-cgi)?[\d.]*$~', readlink('/proc/self/exe')), ' ', preg_match('~ /\S*/howdah-php\.so$~m', file_get_contents('/proc/self/maps')), "\n";
--EXPECT--
howdah 1 runs
[false,null] 0
1 1
