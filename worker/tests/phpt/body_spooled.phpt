--TEST--
A body in the spool directory: form, raw, then none
--POST--
a=1&b=2
--FILE--
<?php
echo $_SERVER['REQUEST_METHOD'], json_encode($_POST), file_get_contents('php://input'), strlen(file_get_contents('php://input'));
--FILE big.txt--
0123456789
--HOWDAH--
body file {ROOT}/request.body
run
var CONTENT_TYPE text/plain
var REQUEST_METHOD PUT
body file {ROOT}/big.txt
run
var REQUEST_METHOD GET
var CONTENT_TYPE
body none
run
--EXPECT--
POST{"a":"1","b":"2"}a=1&b=27
PUT[]0123456789
11
GET[]0
