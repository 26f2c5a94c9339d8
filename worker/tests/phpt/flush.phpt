--TEST--
flush() sends the output so far; implicit_flush each write; output buffers hold it back
--INI--
output_buffering=0
--FILE--
<?php
echo 'a';
flush();
ob_start();
echo 'b';
flush();
ob_end_flush();
echo 'c';
flush();
flush();
echo 'd';
ob_implicit_flush();
echo 'e';
echo 'f';
--HOWDAH--
show frames
run
--EXPECT--
a|bc|de|f|
