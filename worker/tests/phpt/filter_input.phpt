--TEST--
filter_input(INPUT_SERVER), also after $_SERVER was changed
--VARS--
NUM=5
--GET--
g=7
--FILE--
<?php
$_SERVER['NUM'] = 'changed';
var_dump(filter_input(INPUT_SERVER, 'NUM', FILTER_VALIDATE_INT), filter_has_var(INPUT_SERVER, 'REQUEST_METHOD'),
    filter_input_array(INPUT_SERVER, ['NUM' => FILTER_DEFAULT]), filter_input(INPUT_GET, 'g'), $_SERVER['NUM'],
    filter_input(INPUT_SERVER, 'NONE'));
--HOWDAH--
run
var NUM 6
run
--EXPECTF--
int(5)
bool(true)
array(1) {
  ["NUM"]=>
  string(1) "5"
}
string(1) "7"
string(7) "changed"
NULL
%wint(6)
%a
