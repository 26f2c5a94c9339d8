--TEST--
Worker mode: a client that disconnects ends its request at the next output, with `finally` blocks, unless the request ignores that; the worker continues
--FILE--
<?php
$depth = $n = 0;
while (frankenphp_handle_request(static function () use (&$depth, &$n) {
    $n++;
    error_log("$n depth $depth");
    ignore_user_abort($n === 2);
    register_shutdown_function(static fn () => error_log("$n shutdown, connection status " . connection_status()));
    $depth++;
    try {
        for ($i = 0; $n === 1 || $i < 100000 && !connection_aborted(); $i++) {
            if ($n > 2) {
                break;
            }
            try {
                echo str_repeat('x', 1000);
            } finally {
                echo 'more';
            }
        }
    } catch (Throwable $error) {
        error_log('caught ' . get_class($error));
    } finally {
        $depth--;
        error_log("$n finally");
    }
    error_log("$n goes on");
})) {}
--INI--
log_errors=1
output_buffering=0
--HOWDAH--
show log exit
worker {ROOT}/test.php
abort 5000
run
abort 5000
run
abort -1
run
stop
--EXPECTREGEX--
[xmore]+
\[log n 1\] 1 depth 0
\[log n 1\] 1 finally
\[log n 1\] 1 shutdown, connection status 1
[xmore]+
\[log n 2\] 2 depth 0
\[log n 2\] 2 finally
\[log n 2\] 2 goes on
\[log n 2\] 2 shutdown, connection status 1

?\[log n 3\] 3 depth 0
\[log n 3\] 3 finally
\[log n 3\] 3 goes on
\[log n 3\] 3 shutdown, connection status 0
\[worker exited with status 0\]
