--TEST--
exit(255) is not a fatal error
--FILE--
<?php
exit(255);
--HOWDAH--
show end
run
--EXPECT--
[end exit=0 status=255]
