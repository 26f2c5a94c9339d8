--TEST--
fastcgi_finish_request() without a client: there is nothing to finish, and the script goes on
--INI--
ignore_user_abort=1
--FILE--
<?php
echo 'sent';
fastcgi_finish_request();
error_log('status ' . connection_status());
--HOWDAH--
show log
abort 0
run
run
--EXPECT--
[log n 1] status 1
sent[finish]
[log n 2] status 0
