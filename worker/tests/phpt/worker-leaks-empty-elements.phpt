--TEST--
Worker mode: detect_leaks names a list to which each request adds an empty array
--FILE--
<?php
class Listeners
{
    public array $of = [];
}

$listeners = new Listeners();
while (frankenphp_handle_request(function () use ($listeners) {
    $listeners->of[] = [];
})) {
}
--HOWDAH--
worker {ROOT}/test.php
option detect_leaks_sample 1
show log
var REQUEST_URI /
run
run
run
wait-log "why":"grows"
--EXPECT--
[log l 3] {"kind":"object property","why":"grows","path":"$GLOBALS['listeners']->of","member":"Listeners::$of","value":"array(3)","count_before":2,"count":3,"file":"{ROOT}/test.php","line":4,"method":"GET","uri":"/"}
