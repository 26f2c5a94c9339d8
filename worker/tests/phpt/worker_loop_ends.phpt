--TEST--
Worker mode: a script whose own loop ends exits with its status; max_requests ends the loop by false
--FILE--
<?php
for ($n = 0; $n < 2 && ($more = frankenphp_handle_request(static function () { echo 'served'; })); $n++) {}
error_log(json_encode([$n, $more]));
--INI--
log_errors=1
error_log=
--HOWDAH--
show exit log state
worker {ROOT}/test.php
run
run
wait-exit
max-requests 1
retire-after 1
respawn
run
wait-exit
--EXPECTF--
served
[state] ready
served
[log n %d] [2,true]
[worker exited with status 0]
served
[state] ready
[state] retiring
[log n 0] [1,false]
[worker exited with status 0]
