--TEST--
Coroutines: a process with more requests than others leaves new ones to them for a while, and then takes them
--FILE--
<?php
ignore_user_abort(false); // for all requests: a worker script begins with true
while (frankenphp_handle_request(static function () {
    echo 'begins ';
    flush();
    if (isset($_GET['stay'])) {
        while (true) {
            usleep(1000);
        }
    }
})) {
}
--INI--
output_buffering=0
--HOWDAH--
option concurrency 50
worker {ROOT}/test.php
beside 0
left 1000
var QUERY_STRING stay
push stays
await-body stays begins
var QUERY_STRING
left 5
beside 1
left 1000
beside 7
left 1000
beside 0
left 5
leave stays
await stays
left 1000
stop
--EXPECT--
taken
left
taken
taken
left
stays: begins 
taken
