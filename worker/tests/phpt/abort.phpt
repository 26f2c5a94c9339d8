--TEST--
The client goes: the script ends at its next output, shutdown functions see it
--FILE--
<?php
register_shutdown_function(fn () => error_log('status ' . connection_status()));
while (true) {
    echo str_repeat('x', 1000);
    flush();
}
--HOWDAH--
show log
abort 5000
run
abort 0
run
--EXPECTREGEX--
x+
\[log n 1\] status 1
x*
?\[log n 2\] status 1
