--TEST--
$_GET, $_POST, $_COOKIE, $_REQUEST, php://input
--GET--
a=1&b[]=x&b[]=y&c%20d=e
--POST--
p=q&a=post
--COOKIE--
sid=abc; t=v
--FILE--
<?php
echo json_encode([$_GET, $_POST, $_COOKIE, $_REQUEST, file_get_contents('php://input')]);
--EXPECT--
[{"a":"1","b":["x","y"],"c_d":"e"},{"p":"q","a":"post"},{"sid":"abc","t":"v"},{"a":"post","b":["x","y"],"c_d":"e","p":"q"},"p=q&a=post"]
