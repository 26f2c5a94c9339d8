--TEST--
A pool does not start with a final setting: it is the same for all pools
--FILE--
<?php
echo 'never run';
--HOWDAH--
show log
final opcache.memory_consumption 77
run
--EXPECT--
[log e 0] php_admin_ini opcache.memory_consumption: it is the same for all pools: set it in the global block, not for the pool test
[boot ended with status 71]
