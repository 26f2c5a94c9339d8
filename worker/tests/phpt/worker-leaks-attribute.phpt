--TEST--
Worker mode: detect_leaks names entries of a WeakMap, and leaves out what AllowLeak on a class or a property allows
--FILE--
<?php
#[\Howdah\AllowLeak]
final class Allowed
{
    public static array $seen = [];
    public array $entries = [];
    public ?WeakMap $map = null;
}

final class Partly
{
    #[\Howdah\AllowLeak]
    public static array $allowed = [];
    public static array $found = [];
}

#[\Other\AllowLeak]
final class Other
{
    public static array $seen = [];
}

$keys = [];
for ($i = 0; $i < 20; $i++) {
    $keys[] = new stdClass();
}
$map = new WeakMap();
$allowed = new Allowed();
$allowed->map = new WeakMap();
$actions = [
    'map' => fn () => $map[$keys[count($map)]] = 'x',
    'allowed' => function () use ($keys, $allowed) {
        Allowed::$seen[] = 'x';
        $allowed->entries[] = 'x';
        $allowed->map[$keys[count($allowed->map)]] = 'x';
        Partly::$allowed[] = 'x';
    },
    /* The entry ends with its key. */
    'freed' => fn () => $map[new stdClass()] = 'x',
    'partly' => fn () => Partly::$found[] = 'x',
    'other' => fn () => Other::$seen[] = 'x',
];
while (frankenphp_handle_request(function () use ($actions) {
    $actions[$_GET['do']]();
})) {
}
--HOWDAH--
worker {ROOT}/test.php
option detect_leaks_sample 1
show log
var REQUEST_URI /allowed
var QUERY_STRING do=allowed
run
run
run
run
var REQUEST_URI /freed
var QUERY_STRING do=freed
run
run
run
run
var REQUEST_URI /map
var QUERY_STRING do=map
run
run
run
wait-log "uri":"/map"
var REQUEST_URI /partly
var QUERY_STRING do=partly
run
run
run
wait-log "uri":"/partly"
var REQUEST_URI /other
var QUERY_STRING do=other
run
run
run
wait-log "uri":"/other"
stop
--EXPECTF--








[log l 11] {"kind":"object storage","why":"grows","path":"$GLOBALS['map']{elements}","member":"$GLOBALS['map']","value":"3 elements","count_before":2,"count":3,"method":"GET","uri":"/map"}



[log l 14] {"kind":"static property","why":"grows","path":"Partly::$found","member":"Partly::$found","value":"array(3)","count_before":2,"count":3,"file":"{ROOT}/test.php","line":14,"method":"GET","uri":"/partly"}



[log l 17] {"kind":"static property","why":"grows","path":"Other::$seen","member":"Other::$seen","value":"array(3)","count_before":2,"count":3,"file":"{ROOT}/test.php","line":20,"method":"GET","uri":"/other"}
