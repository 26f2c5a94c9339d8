--TEST--
Worker mode: a worker reports once that it has outgrown its memory, as soon as it has, after it had settled
--SKIPIF--
<?php
if (getenv('USE_ZEND_ALLOC') === '0') {
    echo "skip no figures without PHP's allocator";
}
--FILE--
<?php
$kept = [];
while (frankenphp_handle_request(static function () use (&$kept) {
	$kept[] = str_repeat('x', 4 << 20);
})) {}
--INI--
memory_limit=512M
--HOWDAH--
show state
worker {ROOT}/test.php
max-requests 12
max-memory 16777216
run
run
run
run
run
run
run
run
run
run
run
run
wait-exit
max-requests 0
max-memory 0
max-growth 6291456
respawn
run
run
run
run
run
run
run
run
run
run
run
run
run
--EXPECTF--
%w[state] ready%w[state] outgrown%w[state] ready%w[state] outgrown%w
