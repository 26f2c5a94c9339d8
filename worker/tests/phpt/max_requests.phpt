--TEST--
A worker exits after its number of requests, with status 0, and its successor continues in the rings
--FILE--
<?php
echo 'served';
--HOWDAH--
show exit
max-requests 2
run
run
wait-exit
respawn
run
stop
--EXPECT--
served
served
[worker exited with status 0]
served
[worker exited with status 0]
