--TEST--
Worker mode: max_execution_time ends a loop that OPcache's JIT has compiled, and runs its `finally` block
--SKIPIF--
<?php
if (!extension_loaded('Zend OPcache') || php_uname('m') !== 'x86_64' && php_uname('m') !== 'aarch64') {
    echo 'skip no JIT';
}
--FILE--
<?php
function compute(): void {
    for ($i = 0; true; $i = ($i + 1) % 1000) {}
}
while (frankenphp_handle_request(static function () {
    register_shutdown_function(static function () {
        $error = error_get_last();
        echo $error['message'], ' in ', basename($error['file']), ' on line ', $error['line'];
    });
    set_time_limit(1);
    try {
        compute();
    } finally {
        echo 'finally ';
    }
})) {}
--INI--
display_errors=0
opcache.jit=tracing
opcache.jit_buffer_size=16M
opcache.jit_hot_loop=3
opcache.file_update_protection=0
--HOWDAH--
show exit end
worker {ROOT}/test.php
run
wait-exit
--EXPECT--
finally Maximum execution time of 1 second exceeded in test.php on line 3
[end exit=1 status=255]
[worker exited with status 255]
