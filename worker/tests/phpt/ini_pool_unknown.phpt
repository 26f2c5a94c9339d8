--TEST--
A pool does not start with a final setting: PHP has no such setting
--FILE--
<?php
echo 'never run';
--HOWDAH--
show log
final memory_limt 64M
run
--EXPECT--
[log e 0] php_admin_ini memory_limt: PHP has no such setting, or the extension that has it is not loaded
[boot ended with status 71]
