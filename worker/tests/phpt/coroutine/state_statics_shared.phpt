--TEST--
Coroutines: with shared statics, requests see values of others in static properties and variables
--FILE--
<?php
final class Counter
{
    public static int $requests = 0;
}

function calls(): int
{
    static $calls = 0;
    return ++$calls;
}

while (frankenphp_handle_request(function () {
    Counter::$requests++;
    usleep(1000);
    echo Counter::$requests, ' ', calls(), "\n";
})) {
}
--HOWDAH--
worker {ROOT}/test.php
option concurrency 2
option flags 16
run
run
run
--EXPECT--
1 1

2 2

3 3
