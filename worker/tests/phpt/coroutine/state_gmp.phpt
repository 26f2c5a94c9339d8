--TEST--
Coroutines: gmp_random_seed() is of the request
--SKIPIF--
<?php
if (!extension_loaded('gmp')) {
    echo 'skip gmp is not loaded';
}
--FILE--
<?php
while (frankenphp_handle_request(function () {
    $draw = function (): string {
        usleep(500);
        return gmp_strval(gmp_random_range(0, 1000000000));
    };
    $sequences = [];
    foreach ([1, 2] as $_) {
        gmp_random_seed((int) $_GET['n']);
        $sequences[] = [$draw(), $draw(), $draw(), $draw()];
    }
    echo $sequences[0] === $sequences[1] ? 'same' : 'other';
})) {
}
--HOWDAH--
show exit
option concurrency 6
worker {ROOT}/test.php
var REQUEST_URI /1
var QUERY_STRING n=1
push r1
var REQUEST_URI /2
var QUERY_STRING n=2
push r2
var REQUEST_URI /3
var QUERY_STRING n=3
push r3
var REQUEST_URI /4
var QUERY_STRING n=4
push r4
var REQUEST_URI /5
var QUERY_STRING n=5
push r5
var REQUEST_URI /6
var QUERY_STRING n=6
push r6
await all
stop
--EXPECT--
r1: same
r2: same
r3: same
r4: same
r5: same
r6: same
[worker exited with status 0]
