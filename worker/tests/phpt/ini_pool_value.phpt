--TEST--
A pool does not start with a final setting: PHP rejects the value
--FILE--
<?php
echo 'never run';
--HOWDAH--
show log
final session.name 99
run
--EXPECT--
[log e 0] php_admin_ini session.name: PHP rejects the value "99"
[boot ended with status 71]
