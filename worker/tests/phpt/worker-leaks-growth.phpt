--TEST--
Worker mode: detect_leaks names state that each request adds to the process
--SKIPIF--
<?php
foreach (['pdo_sqlite', 'sockets'] as $extension) {
    if (!extension_loaded($extension)) {
        echo "skip without $extension";
    }
}
--FILE--
<?php
class Lost extends php_user_filter
{
}

stream_filter_register('lost', Lost::class);
$filtered = fopen('php://memory', 'r');
$streams = $files = $pairs = $children = [];
$actions = [
    'stream' => fn () => $GLOBALS['streams'][] = fopen('php://memory', 'r'),
    'temporary' => fn () => $GLOBALS['files'][] = tmpfile(),
    'constant' => fn () => define('C' . uniqid(), 1),
    'class' => fn () => eval('class C' . str_replace('.', '', uniqid('', true)) . ' {}'),
    'function' => fn () => eval('function f' . str_replace('.', '', uniqid('', true)) . '() {}'),
    'include' => function () {
        $file = __DIR__ . '/' . uniqid() . '.php';
        file_put_contents($file, '<?php');
        include $file;
    },
    'descriptor' => fn () => socket_create_pair(AF_UNIX, SOCK_STREAM, 0, $GLOBALS['pairs'][]),
    'persistent' => fn () => new PDO('sqlite:' . __DIR__ . '/' . uniqid(), null, null, [PDO::ATTR_PERSISTENT => true]),
    'objects' => fn () => stream_filter_append($filtered, 'lost', STREAM_FILTER_READ),
    'names' => fn () => $GLOBALS['x' . $_GET['id']] = 1,
    'child' => fn () => $GLOBALS['children'][] = proc_open(['sleep', '30'], [], $pipes),
];
while (frankenphp_handle_request(function () use ($actions) {
    $actions[$_GET['do']]();
})) {
}
--HOWDAH--
worker {ROOT}/test.php
option detect_leaks_sample 1
leak-allow *{stream_filter_append()}
show log
var REQUEST_URI /stream
var QUERY_STRING do=stream
run
run
run
wait-log "kind":"stream"
var REQUEST_URI /temporary
var QUERY_STRING do=temporary
run
run
run
wait-log "kind":"temporary file"
var REQUEST_URI /constant
var QUERY_STRING do=constant
run
run
run
wait-log "kind":"constant"
var REQUEST_URI /class
var QUERY_STRING do=class
run
run
run
wait-log "kind":"class"
var REQUEST_URI /function
var QUERY_STRING do=function
run
run
run
wait-log "kind":"function"
var REQUEST_URI /include
var QUERY_STRING do=include
run
run
run
wait-log "kind":"included file"
var REQUEST_URI /descriptor
var QUERY_STRING do=descriptor
run
run
run
wait-log "kind":"descriptor"
var REQUEST_URI /persistent
var QUERY_STRING do=persistent
run
run
run
wait-log "kind":"persistent connection"
var REQUEST_URI /objects
var QUERY_STRING do=objects
run
run
run
wait-log "kind":"objects"
var REQUEST_URI /names
var QUERY_STRING do=names&id=1
run
var QUERY_STRING do=names&id=2
run
var QUERY_STRING do=names&id=3
run
var QUERY_STRING do=names&id=4
run
wait-log "path":"$GLOBALS"
var REQUEST_URI /child
var QUERY_STRING do=child
run
run
run
wait-log "kind":"child process"
stop
--EXPECTF--
[log l 3] {"kind":"global variable","why":"grows","path":"$GLOBALS['streams']","member":"$GLOBALS['streams']","value":"array(3)","count_before":2,"count":3,"method":"GET","uri":"/stream"}
[log l 3] {"kind":"stream","why":"grows","path":"open streams","value":"php://memory","count_before":%d,"count":%d,"method":"GET","uri":"/stream"}



[log l 6] {"kind":"global variable","why":"grows","path":"$GLOBALS['files']","member":"$GLOBALS['files']","value":"array(3)","count_before":2,"count":3,"method":"GET","uri":"/temporary"}
[log l 6] {"kind":"temporary file","why":"grows","path":"open temporary files","value":"%s","count_before":%d,"count":%d,"method":"GET","uri":"/temporary"}



[log l 9] {"kind":"constant","why":"grows","path":"constants","value":"%s","count_before":%d,"count":%d,"method":"GET","uri":"/constant"}



[log l 12] {"kind":"class","why":"grows","path":"classes","value":"%s","count_before":%d,"count":%d,"method":"GET","uri":"/class"}



[log l 15] {"kind":"function","why":"grows","path":"functions","value":"%s","count_before":%d,"count":%d,"method":"GET","uri":"/function"}



[log l 18] {"kind":"included file","why":"grows","path":"included files","value":"{ROOT}/%s.php","count_before":%d,"count":%d,"method":"GET","uri":"/include"}



[log l 21] {"kind":"global variable","why":"grows","path":"$GLOBALS['pairs']","member":"$GLOBALS['pairs']","value":"array(3)","count_before":2,"count":3,"method":"GET","uri":"/descriptor"}
[log l 21] {"kind":"descriptor","why":"grows","path":"open descriptors","value":"socket:[%d]","count_before":%d,"count":%d,"method":"GET","uri":"/descriptor"}



[log l 24] {"kind":"persistent connection","why":"grows","path":"persistent connections","value":"","count_before":%d,"count":%d,"method":"GET","uri":"/persistent"}



[log l 27] {"kind":"objects","why":"grows","path":"Lost","value":"3 objects","count_before":2,"count":3,"file":"{ROOT}/test.php","line":2,"method":"GET","uri":"/objects"}




[log l 31] {"kind":"global variable","why":"grows","path":"$GLOBALS","member":"$GLOBALS","value":"4 variables, the newest \"x4\"","count_before":3,"count":4,"method":"GET","uri":"/names"}



[log l 34] {"kind":"global variable","why":"grows","path":"$GLOBALS['children']","member":"$GLOBALS['children']","value":"array(3)","count_before":2,"count":3,"method":"GET","uri":"/child"}
[log l 34] {"kind":"child process","why":"grows","path":"child processes","value":"","count_before":2,"count":3,"method":"GET","uri":"/child"}
