--TEST--
OPcache's JIT compiles within PHP's own executable
--SKIPIF--
<?php
if (!extension_loaded('Zend OPcache') || php_uname('m') !== 'x86_64' && php_uname('m') !== 'aarch64') {
    echo 'skip no JIT';
}
--INI--
opcache.jit=tracing
opcache.jit_buffer_size=16M
opcache.file_update_protection=0
--FILE--
<?php
function fibonacci(int $n): int
{
    return $n < 2 ? $n : fibonacci($n - 1) + fibonacci($n - 2);
}
$free = opcache_get_status(false)['jit']['buffer_free'];
echo fibonacci(20), ' ', strlen(implode(',', array_map(fn ($i) => strrev((string) $i), range(1, 1000))));
echo ' ', opcache_get_status(false)['jit']['on'] ? 'on' : 'off', ' ', opcache_get_status(false)['jit']['buffer_free'] < $free ? 'compiled' : 'not compiled';
--EXPECT--
6765 3892 on compiled
