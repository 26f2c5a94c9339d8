--TEST--
Worker mode: session.auto_start starts a session for each request
--INI--
session.save_path={ROOT}
session.use_strict_mode=0
session.auto_start=1
--COOKIE--
PHPSESSID=abcd
--FILE--
<?php
while (frankenphp_handle_request(function () {
    echo session_status() === PHP_SESSION_ACTIVE ? 'active ' : 'none ', $_SESSION['n'] = ($_SESSION['n'] ?? 0) + 1, "\n";
})) {
}
--HOWDAH--
worker {ROOT}/test.php
run
run
--EXPECT--
active 1

active 2
