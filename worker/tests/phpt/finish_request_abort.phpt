--TEST--
fastcgi_finish_request() without a client: there is nothing to finish, and the script continues
--INI--
ignore_user_abort=1
--FILE--
<?php
echo $_SERVER['REQUEST_URI'] === '/much' ? str_repeat(' ', 9000) : '', 'sent';
fastcgi_finish_request();
error_log('status ' . connection_status());
--HOWDAH--
show log
var REQUEST_URI /much
abort 0
run
var REQUEST_URI /
abort 0
run
run
--EXPECT--
[log n 1] status 1

[log n 2] status 0
sent[finish]
[log n 3] status 0
