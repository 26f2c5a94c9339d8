--TEST--
Records are whole where PHP code has made its php://stderr, and so the log pipe, non-blocking
--INI--
log_errors=1
--FILE--
<?php
$stderr = fopen('php://stderr', 'w');
stream_set_blocking($stderr, false);
error_log(str_repeat('a', 200000));
error_log('the next');
--HOWDAH--
show log
run
--EXPECTREGEX--
\[log n 1\] a{60000}a{5536}
\[log n 1\] a{60000}a{5536}
\[log n 1\] a{60000}a{5536}
\[log n 1\] a{3392}
\[log n 1\] the next
