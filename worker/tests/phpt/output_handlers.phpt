--TEST--
Buffers that the script leaves open, a callback, output in a destructor and in a shutdown function
--FILE--
<?php
class Last { function __destruct() { echo 'destructor '; } }
$last = new Last;
register_shutdown_function(function () { echo 'shutdown '; });
ob_start(fn ($text) => strtoupper($text));
ob_start();
echo 'inner ';
--EXPECT--
INNER SHUTDOWN DESTRUCTOR
