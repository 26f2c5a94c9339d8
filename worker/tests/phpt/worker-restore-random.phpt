--TEST--
Worker mode: each request has a separate random sequence, whatever the boot and others seeded
--FILE--
<?php
mt_srand(5);
$seen = [];
while (frankenphp_handle_request(function () use (&$seen) {
    $now = mt_rand() . ' ' . mt_rand();
    echo isset($seen[$now]) ? 'again' : 'new', "\n";
    $seen[$now] = true;
    mt_srand(7);
})) {
}
--HOWDAH--
worker {ROOT}/test.php
run
run
run
--EXPECT--
new

new

new
