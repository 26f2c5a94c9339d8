--TEST--
Coroutines: a request is not charged for its cycles that were collected while another one ran
--SKIPIF--
<?php
if (getenv('USE_ZEND_ALLOC') === '0') {
    echo 'skip no memory limit without PHP\'s allocator';
}
--FILE--
<?php
$turns = new stdClass();
$turns->made = $turns->collected = 0;
while (frankenphp_handle_request(static function () use ($turns) {
    if ($_GET['do'] === 'collect') {
        while ($turns->collected < 10) {
            while ($turns->made === $turns->collected) {
                usleep(100);
            }
            gc_collect_cycles();
            $turns->collected++;
        }
        echo 'collected';
        return;
    }
    while ($turns->made < 10) {
        for ($i = 0; $i < 20; $i++) {
            $cycle = new stdClass();
            $cycle->self = $cycle;
            $cycle->data = array_fill(0, 60000, $i); // 1 MiB
        }
        unset($cycle);
        $turns->made++;
        while ($turns->made !== $turns->collected) {
            usleep(100);
        }
    }
    echo 'made ', $turns->made;
})) {}
--INI--
memory_limit=48M
--HOWDAH--
show exit
option concurrency 2
worker {ROOT}/test.php
var QUERY_STRING do=collect
push collect
var QUERY_STRING do=make
push make
await make
await collect
--EXPECT--
make: made 10
collect: collected
