--TEST--
ignore_user_abort(): the script continues without its client, and the next request is unaffected
--INI--
ignore_user_abort=1
--FILE--
<?php
for ($i = 0; $i < 200 && !connection_aborted(); $i++) {
    echo str_repeat('x', 1000);
    flush();
}
echo 'more';
error_log($i < 200 ? 'saw it' : 'never');
--HOWDAH--
show log
abort 0
run
run
--EXPECTREGEX--
.*\[log n 1\] saw it.*more
\[log n 2\] never
