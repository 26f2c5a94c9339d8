--TEST--
Truncated variables: 500, logged, no code ran, and the worker continues
--FILE--
<?php
echo 'ran';
--HOWDAH--
show headers end log
cut 4
run
cut 1
run
cut 12
run
run
--EXPECT--
Status: 500
Content-Type: text/plain; charset=utf-8


[end exit=0 status=0]
[log e 1] The variables or the body of the request are not well-formed in shared memory
--
Status: 500
Content-Type: text/plain; charset=utf-8


[end exit=0 status=0]
[log e 2] The variables or the body of the request are not well-formed in shared memory
--
Status: 500
Content-Type: text/plain; charset=utf-8


[end exit=0 status=0]
[log e 3] The variables or the body of the request are not well-formed in shared memory
--
Status: 200
Content-type: text/html; charset=UTF-8

ran
[end exit=0 status=0]
