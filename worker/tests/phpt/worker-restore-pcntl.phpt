--TEST--
Worker mode: the last error of pcntl of a request does not reach the next one
--EXTENSIONS--
pcntl
--FILE--
<?php
pcntl_waitpid(999999, $status);
while (frankenphp_handle_request(static function () {
    echo pcntl_get_last_error();
    pcntl_waitpid(999999, $status);
})) {
}
--HOWDAH--
worker {ROOT}/test.php
run
run
--EXPECT--
0
0
