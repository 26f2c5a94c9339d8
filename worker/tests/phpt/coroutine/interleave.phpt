--TEST--
Coroutines: requests that wait let others run, each keeps its input, output, headers and variables
--FILE--
<?php
$gate = new stdClass();
while (frankenphp_handle_request(static function () use ($gate) {
    $name = $_GET['n'];
    header("X-Name: $name");
    http_response_code(200 + strlen($name));
    $GLOBALS['who'] = $name;
    ob_start();
    echo $_SERVER['REQUEST_URI'], ' ', $name;
    while (!isset($gate->{$_GET['after']}) && $_GET['after'] !== '') {
        usleep(1000);
    }
    echo ' ', $GLOBALS['who'], ' ', $_GET['n'], ' ', $_POST['p'] ?? '-', ' ', file_get_contents('php://input');
    ob_end_flush();
    $gate->$name = true;
})) {}
--POST--
p=posted
--HOWDAH--
show headers exit
option concurrency 4
worker {ROOT}/test.php
var REQUEST_URI /a
var QUERY_STRING n=a&after=bb
push a
var REQUEST_URI /bb
var QUERY_STRING n=bb&after=ccc
push bb
var REQUEST_URI /ccc
var QUERY_STRING n=ccc&after=
push ccc
await all
stop
--EXPECT--
ccc: Status: 203
X-Name: ccc
Content-type: text/html; charset=UTF-8

/ccc ccc ccc ccc posted p=posted
bb: Status: 202
X-Name: bb
Content-type: text/html; charset=UTF-8

/bb bb bb bb posted p=posted
a: Status: 201
X-Name: a
Content-type: text/html; charset=UTF-8

/a a a a posted p=posted
[worker exited with status 0]
