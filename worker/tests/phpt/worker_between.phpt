--TEST--
Worker mode: code between two requests may print, buffer and set headers without effect on a client
--FILE--
<?php
while (frankenphp_handle_request(static function () { echo 'body'; })) {
    echo "between\n";
    header('X-Between: 1');
    ob_start();
    echo 'buffered';
    register_shutdown_function(static function () { error_log('must not run'); });
}
--HOWDAH--
show exit
worker {ROOT}/test.php
run
run
run
stop
--EXPECT--
body
body
body
[worker exited with status 0]
