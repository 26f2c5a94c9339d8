--TEST--
exit() in depth: shutdown functions, then destructors; the status is reported
--FILE--
<?php
class Thing { function __destruct() { echo "destructor\n"; } }
$thing = new Thing;
register_shutdown_function(function () { echo "shutdown\n"; });
function leave() { try { exit(7); } finally { echo "finally\n"; } }
ob_start();
echo "buffered\n";
leave();
--HOWDAH--
show end
run
run
--EXPECT--
buffered
shutdown
destructor

[end exit=0 status=7]
buffered
shutdown
destructor

[end exit=0 status=7]
