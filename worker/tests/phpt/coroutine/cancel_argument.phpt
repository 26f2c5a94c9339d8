--TEST--
Coroutines: a call that is cancelled between its arguments frees none that it does not have yet
--FILE--
<?php
$shared = new stdClass();
$shared->held = new stdClass();
function count_references(stdClass $object): string
{
    ob_start();
    debug_zval_dump($object);
    return preg_match('/refcount\((\d+)\)/', ob_get_clean(), $found) ? $found[1] : 'none';
}
while (frankenphp_handle_request(static function () use ($shared) {
    $before = count_references($shared->held);
    for ($i = 0; $i < 3; $i++) {
        Howdah\race([
            static function () use ($shared) {
                spl_object_id($shared->held); // where the next call's argument is to be
                spl_object_id(usleep(5_000_000));
            },
            static fn () => usleep(1000),
        ]);
        usleep(1000); // until it is unwound
    }
    echo count_references($shared->held) === $before ? 'same' : 'changed';
})) {
}
--HOWDAH--
option concurrency 2
worker {ROOT}/test.php
run
stop
--EXPECT--
same
