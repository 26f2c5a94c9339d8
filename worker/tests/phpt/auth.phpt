--TEST--
Authorization becomes PHP_AUTH_USER, PHP_AUTH_PW, PHP_AUTH_DIGEST; none is left for the next request
--FILE--
<?php
echo json_encode(array_intersect_key($_SERVER, array_flip(['PHP_AUTH_USER', 'PHP_AUTH_PW', 'PHP_AUTH_DIGEST'])));
--HOWDAH--
var HTTP_AUTHORIZATION Basic dXNlcjpwYTpzcw==
run
var HTTP_AUTHORIZATION Digest username="x"
run
var HTTP_AUTHORIZATION
run
--EXPECT--
{"PHP_AUTH_USER":"user","PHP_AUTH_PW":"pa:ss"}
{"PHP_AUTH_DIGEST":"username=\"x\""}
[]
