--TEST--
Worker mode: a session is written and unlocked when its response ends
--INI--
session.save_path={ROOT}
session.use_strict_mode=0
log_errors=1
--COOKIE--
PHPSESSID=abcd
--FILE--
<?php
while (frankenphp_handle_request(function () {
    session_start();
    $_SESSION['n'] = ($_SESSION['n'] ?? 0) + 1;
    echo $_SESSION['n'], "\n";
})) {
    /* Between two requests. */
    $file = fopen(__DIR__ . '/sess_abcd', 'r');
    error_log((flock($file, LOCK_EX | LOCK_NB) ? 'unlocked ' : 'locked ') . stream_get_contents($file));
    fclose($file);
}
--HOWDAH--
worker {ROOT}/test.php
show log
run
wait-log unlocked n|i:1;
run
wait-log unlocked n|i:2;
--EXPECTF--
1

[log n 1] unlocked n|i:1;
2

[log n 2] unlocked n|i:2;
