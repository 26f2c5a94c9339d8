--TEST--
Worker mode: a script that ends before its first request has failed to boot; its output is logged
--FILE--
<?php
echo "cannot find the database\n";
exit(3);
--HOWDAH--
show log
worker {ROOT}/test.php
run
--EXPECT--
[log i 0] cannot find the database
[log e 0] The worker script {ROOT}/test.php ended with an error before it called frankenphp_handle_request(); its output and errors are above
[boot ended with status 71]
