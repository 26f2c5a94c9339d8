--TEST--
Worker mode: detect_leaks names an effective user that a request leaves changed, and does not name one that it sets back
--SKIPIF--
<?php
if (!extension_loaded('posix')) {
    echo 'skip without posix';
} elseif (posix_geteuid() !== 0) {
    echo 'skip only root can change users';
}
--FILE--
<?php
$actions = [
    'back' => fn () => posix_seteuid(65533) && posix_seteuid(0),
    'left' => fn () => posix_seteuid(65534),
    'idle' => fn () => null,
];
while (frankenphp_handle_request(function () use ($actions) {
    $actions[$_GET['do']]();
    echo posix_geteuid(), ':', posix_getegid();
})) {
}
--HOWDAH--
worker {ROOT}/test.php
option detect_leaks_sample 1
show log
var REQUEST_URI /back
var QUERY_STRING do=back
run
var REQUEST_URI /left
var QUERY_STRING do=left
run
wait-log "uri":"/left"
var REQUEST_URI /idle
var QUERY_STRING do=idle
run
stop
--EXPECT--
0:0
65534:0
[log l 2] {"kind":"user","why":"left behind","path":"posix_seteuid()","value":"65534","method":"GET","uri":"/left"}
65534:0
