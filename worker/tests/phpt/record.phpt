--TEST--
The pool's processes record the files that they run, each once, and whether an autoloader included it
--INI--
opcache.file_update_protection=0
--FILE Found.php--
<?php
require __DIR__ . '/beside.php';
class Found {}
--FILE beside.php--
<?php
class Beside {}
--FILE Later.php--
<?php
class Later {}
--FILE--
<?php
spl_autoload_register(function (string $name): void {
    include __DIR__ . '/../www/' . $name . '.php';
});
eval('$a = 1;');
if (isset($_GET['later'])) {
    new Later();
} else {
    require __DIR__ . '/Later.php';
}
new Found();
--HOWDAH--
record
run
run
recorded
stop
respawn
var QUERY_STRING later
run
run
recorded
--EXPECT--
[recorded: {ROOT}/test.php]
[recorded: {ROOT}/Later.php]
[recorded, autoloaded: {ROOT}/Found.php]
[recorded: {ROOT}/beside.php]


[recorded: {ROOT}/test.php]
[recorded: {ROOT}/Later.php]
[recorded, autoloaded: {ROOT}/Found.php]
[recorded: {ROOT}/beside.php]
[recorded, autoloaded: {ROOT}/Later.php]
