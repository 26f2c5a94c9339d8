--TEST--
max_execution_time counts CPU time, set_time_limit() re-arms it; the worker continues
--FILE--
<?php
if (isset($_GET['ok'])) {
    exit('alive');
}
set_time_limit(1);
while (true) {
}
--HOWDAH--
show end
run
var QUERY_STRING ok=1
run
--EXPECTF--
Fatal error: Maximum execution time of 1 second exceeded in {ROOT}/test.php on line %d

[end exit=1 status=255]
alive
[end exit=0 status=0]
