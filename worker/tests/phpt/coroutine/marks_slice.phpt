--TEST--
Coroutines: a time slice does not end in the midst of an instruction, whose marks on objects others would see
--FILE--
<?php
// PHP asks for interrupts after a function of its own that an instruction has called, as here for each element.
$shared = new stdClass();
$other = new stdClass();
for ($i = 0; $i < 3000; $i++) {
    $shared->list[$i] = new Exception("text $i");
    $other->list[$i] = (string) $shared->list[$i];
}
$arrived = 0;
while (frankenphp_handle_request(static function () use ($shared, $other, &$arrived): void {
    $arrived++;
    while ($arrived < 3) {
        usleep(100);
    }
    for ($equal = 0, $i = 0; $i < 10; $i++) {
        $equal += $shared == $other ? 1 : 0;
    }
    echo $equal;
})) {
}
--HOWDAH--
option concurrency 3
option time_slice_ms 1
worker {ROOT}/test.php
push a
push b
push c
await a
await b
await c
stop
--EXPECT--
a: 10
b: 10
c: 10
