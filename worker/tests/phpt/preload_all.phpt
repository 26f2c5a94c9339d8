--TEST--
Preloading of all files that can be compiled: functions too; nothing of them runs
--SKIPIF--
<?php
if (!extension_loaded('Zend OPcache')) {
    echo 'skip no OPcache';
}
--INI--
opcache.file_update_protection=0
--FILE functions.php--
<?php
function answer() { return 42; }
class Plain {}
echo "included\n";
--FILE same.php--
<?php
function answer() { return 43; }
--FILE config.php--
<?php
return ['a' => 1];
--FILE deprecated.php--
<?php
class Dated { public function m($optional = 1, $required) {} }
--FILE syntax.php--
<?php
class Syntax {
--FILE--
<?php
echo json_encode([function_exists('answer'), class_exists('Plain', false), class_exists('Dated', false)]), "\n";
echo json_encode(require __DIR__ . '/config.php'), "\n";
require __DIR__ . '/functions.php';
echo answer(), "\n";
--HOWDAH--
preload all {ROOT}/functions.php {ROOT}/config.php {ROOT}/deprecated.php {ROOT}/syntax.php
run
run
--EXPECT--
[preload: done 1, foreign 0, 2 classes, 1 functions, memory some]
functions.php: loaded
config.php: loaded
deprecated.php: loaded
syntax.php: syntax
[true,true,true]
{"a":1}
included
42

[true,true,true]
{"a":1}
included
42
