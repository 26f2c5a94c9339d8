--TEST--
Worker mode: a client that disconnects while a destructor runs because of an exit() does not replace the exit, so the worker continues
--FILE--
<?php
final class Local {
    public function __construct(private int $n) {}
    public function __destruct() {
        for ($i = 0; $i < 100 && $this->n === 1; $i++) {
            echo str_repeat('x', 1000);
        }
        error_log("$this->n destructed, connection status " . connection_status());
    }
}
$n = 0;
while (frankenphp_handle_request(static function () use (&$n) {
    $n++;
    ignore_user_abort(false);
    register_shutdown_function(static fn () => error_log("$n shutdown"));
    (static function (int $n): void {
        $local = new Local($n);
        exit;
    })($n);
})) {}
--INI--
log_errors=1
output_buffering=0
--HOWDAH--
show log exit state
worker {ROOT}/test.php
abort 5000
run
abort -1
run
stop
--EXPECTREGEX--
x+
\[state\] ready
\[log n 1\] 1 destructed, connection status 1
\[log n 1\] 1 shutdown

?\[log n 2\] 2 destructed, connection status 0
\[log n 2\] 2 shutdown
\[worker exited with status 0\]
