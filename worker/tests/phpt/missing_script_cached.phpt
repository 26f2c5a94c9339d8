--TEST--
A deleted script that OPcache still holds: 404, no fatal error
--SKIPIF--
<?php
if (!extension_loaded('Zend OPcache')) {
    echo 'skip no OPcache';
}
--INI--
opcache.file_update_protection=0
opcache.validate_timestamps=1
opcache.revalidate_freq=0
--FILE--
<?php
echo 'held: ', var_export(opcache_is_script_cached(__FILE__), true);
--FILE sub/delete.php--
<?php
echo 'deleted: ', var_export(unlink(dirname(__DIR__) . '/test.php'), true);
--HOWDAH--
show headers log
run
run
var SCRIPT_FILENAME {ROOT}/sub/delete.php
run
var SCRIPT_FILENAME {ROOT}/test.php
run
var SCRIPT_FILENAME {ROOT}/sub/delete.php
run
--EXPECTF--
Status: 200
Content-type: text/html; charset=UTF-8

held: true
--
Status: 200
Content-type: text/html; charset=UTF-8

held: true
--
Status: 200
Content-type: text/html; charset=UTF-8

deleted: true
--
Status: 404
Content-type: text/html; charset=UTF-8

File not found.

[log e 4] Primary script unknown: {ROOT}/test.php
--
Status: 200
Content-type: text/html; charset=UTF-8

deleted: %Afalse
