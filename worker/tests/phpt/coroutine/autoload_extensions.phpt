--TEST--
Coroutines: spl_autoload_extensions() is the request's
--FILE--
<?php
spl_autoload_extensions('.boot');
while (frankenphp_handle_request(function () {
    $before = spl_autoload_extensions();
    if ($_GET['set'] !== '') {
        spl_autoload_extensions($_GET['set']);
    }
    usleep(2000);
    echo $before, ' ', spl_autoload_extensions();
})) {
}
--HOWDAH--
worker {ROOT}/test.php
option concurrency 3
var QUERY_STRING set=.a
push a
var QUERY_STRING set=.b
push b
var QUERY_STRING set=
push none
await none
await a
await b
--EXPECT--
none: .boot .boot
a: .boot .a
b: .boot .b
