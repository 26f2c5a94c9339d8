--TEST--
Worker mode with exit restart: exit() ends the worker after the whole response
--FILE--
<?php
register_shutdown_function(static function () { echo 'boot shutdown'; });
while (frankenphp_handle_request(static function () {
    register_shutdown_function(static function () { echo 'request shutdown '; });
    exit('bye ');
})) {}
--HOWDAH--
show exit
worker {ROOT}/test.php
option flags 2
run
wait-exit
respawn
run
wait-exit
--EXPECT--
bye request shutdown boot shutdown
[worker exited with status 0]
bye request shutdown boot shutdown
[worker exited with status 0]
