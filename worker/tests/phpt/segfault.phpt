--TEST--
A worker that crashes is reported with its signal; its successor serves
--FILE--
<?php
if (isset($_GET['ok'])) {
    exit('alive');
}
posix_kill(posix_getpid(), SIGSEGV);
echo 'not reached';
--HOWDAH--
show exit
run
var QUERY_STRING ok=1
respawn
run
stop
--EXPECT--
[worker died; started=1]
[worker killed by signal 11]
alive
[worker exited with status 0]
