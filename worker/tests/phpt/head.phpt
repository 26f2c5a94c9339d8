--TEST--
HEAD: headers, no body, and the script ends at its first output as PHP has it
--VARS--
REQUEST_METHOD=HEAD
--FILE--
<?php
header('X-A: 1');
echo 'body';
--HOWDAH--
head
show headers
run
--EXPECTF--
Status: 200
X-A: 1
Content-type: text/html; charset=UTF-8
