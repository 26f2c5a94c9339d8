--TEST--
Worker mode: a worker requests its warm paths of itself before it is ready; nothing of that is seen
--FILE--
<?php
$seen = [];
while (frankenphp_handle_request(static function () use (&$seen) {
    $seen[] = $_SERVER['REQUEST_URI'] . ' ' . ($_GET['q'] ?? '-');
    if (count($seen) === 2) { exit('no client'); }
    echo implode(', ', $seen);
})) {}
--HOWDAH--
show state exit
worker {ROOT}/test.php
warm /a?q=1
warm /b
run
stop
--EXPECT--
/a?q=1 1, /b -, /test.php -
[state] ready
[worker exited with status 0]
