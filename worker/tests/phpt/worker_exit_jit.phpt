--TEST--
Worker mode: exit() runs `finally` blocks in code that OPcache's JIT has compiled, and JIT stays on
--SKIPIF--
<?php
if (!extension_loaded('Zend OPcache') || php_uname('m') !== 'x86_64' && php_uname('m') !== 'aarch64') {
    echo 'skip no JIT';
}
--INI--
opcache.jit=tracing
opcache.jit_buffer_size=16M
opcache.jit_hot_func=3
opcache.jit_hot_loop=3
opcache.file_update_protection=0
--FILE--
<?php
final class Kernel {
    public int $depth = 0;
    public function handle(int $until): void {
        $this->depth++;
        try {
            for ($i = 0, $sum = 0; $i < 1000; $i++) {
                $sum += work($i, $until);
            }
        } finally {
            $this->depth--;
        }
    }
}
function work(int $i, int $until): int {
    for ($j = 0, $sum = 0; $j < 10; $j++) {
        $sum += $j;
    }
    if ($i === $until) {
        exit("left at $i ");
    }
    return $sum;
}
$kernel = new Kernel();
$free = opcache_get_status(false)['jit']['buffer_free'];
$n = 0;
while (frankenphp_handle_request(static function () use ($kernel, $free, &$n) {
    $jit = opcache_get_status(false)['jit'];
    echo ++$n, " depth $kernel->depth ", $jit['on'] ? 'on' : 'off', ' ';
    register_shutdown_function(static function () use ($free) {
        echo opcache_get_status(false)['jit']['buffer_free'] < $free ? 'compiled' : 'not compiled';
    });
    $kernel->handle($n * 100);
    echo 'never';
})) {}
--HOWDAH--
show end exit
worker {ROOT}/test.php
run
run
run
stop
--EXPECT--
1 depth 0 on left at 100 compiled
[end exit=2 status=0]
2 depth 0 on left at 200 compiled
[end exit=2 status=0]
3 depth 0 on left at 300 compiled
[end exit=2 status=0]
[worker exited with status 0]
