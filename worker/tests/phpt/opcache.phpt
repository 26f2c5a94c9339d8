--TEST--
OPcache serves this SAPI, and scripts stay cached from request to request
--SKIPIF--
<?php
if (!extension_loaded('Zend OPcache')) {
    echo 'skip no OPcache';
}
--INI--
opcache.file_update_protection=0
--FILE--
<?php
$status = opcache_get_status(true);
var_dump($status['opcache_enabled'], isset($status['scripts'][__FILE__]));
--HOWDAH--
run
run
--EXPECT--
bool(true)
bool(true)

bool(true)
bool(true)
