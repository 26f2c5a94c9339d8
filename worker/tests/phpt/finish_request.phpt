--TEST--
fastcgi_finish_request(): the client has all, later output is dropped and does not end the script
--FILE--
<?php
ob_start();
echo 'sent';
var_dump(fastcgi_finish_request());
echo 'dropped';
flush();
error_log('first ' . var_export(connection_status(), true) . var_export(fastcgi_finish_request(), true));
register_shutdown_function(fn () => error_log('last'));
--HOWDAH--
show log
run
run
--EXPECT--
sent[finish]
[log n 1] first 0false
[log n 1] last
sent[finish]
[log n 2] first 0false
[log n 2] last
