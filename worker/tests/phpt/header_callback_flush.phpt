--TEST--
Output of a header_register_callback() callback precedes the buffer whose flush called it
--FILE--
<?php
header_register_callback(static function () { echo 'callback '; });
ob_start();
echo 'flushed ';
ob_flush();
echo 'end';
--EXPECT--
callback flushed end
