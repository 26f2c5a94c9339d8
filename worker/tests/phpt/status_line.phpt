--TEST--
Status: by code, by line with a reason, by "Status:", by both, and none for 200
--FILE--
<?php
match ($_GET['s'] ?? '') {
    'code' => http_response_code(404),
    'line' => header("HTTP/1.1 418 I'm a teapot"),
    'status' => header('Status: 404 Not here'),
    'both' => [header('HTTP/1.1 503 Down'), header('Status: 404 Not here')],
    'location' => header('Location: /x'),
    'third' => header('X-Y: z', true, 202),
    'broken' => header('HTTP/1.1 99 x'),
    default => null,
};
echo $_GET['s'] ?? '';
--HOWDAH--
show headers
run
var QUERY_STRING s=code
run
var QUERY_STRING s=line
run
var QUERY_STRING s=status
run
var QUERY_STRING s=both
run
var QUERY_STRING s=location
run
var QUERY_STRING s=third
run
var QUERY_STRING s=broken
run
--EXPECTF--
Status: 200
Content-type: text/html; charset=UTF-8


--
Status: 404
Content-type: text/html; charset=UTF-8

code
--
Status: 418 I'm a teapot
Content-type: text/html; charset=UTF-8

line
--
Status: 404 Not here
Content-type: text/html; charset=UTF-8

status
--
Status: 503 Down
Content-type: text/html; charset=UTF-8

both
--
Status: 302
Location: /x
Content-type: text/html; charset=UTF-8

location
--
Status: 202
X-Y: z
Content-type: text/html; charset=UTF-8

third
--
Status: 500
Content-type: text/html; charset=UTF-8

broken
