--TEST--
variables_order with E adds the environment; the request wins
--INI--
variables_order=EGPCS
--VARS--
HOME=from-request
--FILE--
<?php
var_dump($_SERVER['HOME'], isset($_SERVER['PATH']), isset($_ENV['PATH']), isset($_ENV['REQUEST_METHOD']));
--EXPECT--
string(12) "from-request"
bool(true)
bool(true)
bool(false)
