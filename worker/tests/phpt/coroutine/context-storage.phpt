--TEST--
Coroutines: a stack of active spans like OpenTelemetry's is private to the request if its start replaces it
--FILE--
<?php
final class Context
{
    private static ?SplStack $storage = null;

    public static function storage(): SplStack
    {
        return self::$storage ??= new SplStack();
    }

    public static function setStorage(SplStack $storage): void
    {
        self::$storage = $storage;
    }
}

Context::storage(); // a library uses it during the boot
howdah_on_request_start(static function () {
    if (isset($_GET['own'])) {
        Context::setStorage(new SplStack());
    }
    Context::storage()->push($_GET['name']);
});
howdah_on_request_end(static function () {
    echo 'ended ', Context::storage()->pop(), "\n";
});
$gate = new stdClass();
while (frankenphp_handle_request(static function () use ($gate) {
    $opened = $_GET['opens'];
    $awaited = $_GET['awaits'];
    $gate->$opened = true;
    while (!isset($gate->$awaited)) {
        usleep(1000);
    }
    echo 'active ', Context::storage()->top(), "\n";
    if ($_GET['name'] === 'a') {
        $gate->{'seen' . isset($_GET['own'])} = true;
    }
})) {
}
--HOWDAH--
option concurrency 4
worker {ROOT}/test.php
var QUERY_STRING name=a&opens=a&awaits=b
push a
var QUERY_STRING name=b&opens=b&awaits=seen
push b
await a b
var QUERY_STRING name=a&opens=c&awaits=d&own=1
push a
var QUERY_STRING name=b&opens=d&awaits=seen1&own=1
push b
await a b
--EXPECT--
a: active b
ended b

b: active a
ended a

a: active a
ended a

b: active b
ended b
