--TEST--
304 carries no Content-Type
--FILE--
<?php
http_response_code(304);
header('ETag: "x"');
--EXPECTHEADERS--
Status: 304
ETag: "x"
!Content-type: text/html; charset=UTF-8
--EXPECT--
