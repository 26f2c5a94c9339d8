--TEST--
What a callback of header_register_callback() prints comes before the buffer whose flush has called it
--FILE--
<?php
header_register_callback(static function () { echo 'callback '; });
ob_start();
echo 'flushed ';
ob_flush();
echo 'end';
--EXPECT--
callback flushed end
