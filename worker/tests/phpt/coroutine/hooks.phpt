--TEST--
Coroutines: callbacks of the start and the end are for each of the requests that run at the same time
--FILE--
<?php
howdah_on_request_start(static function () {
    usleep(1000);
    echo "start of {$_GET['name']}\n";
});
howdah_on_request_end(static function () {
    usleep(1000);
    echo "end of {$_GET['name']}\n";
});
$gate = new stdClass();
while (frankenphp_handle_request(static function () use ($gate) {
    $name = $_GET['name'];
    if ($name === 'b') {
        $gate->open = true;
    }
    while ($name === 'a' && !isset($gate->open)) {
        usleep(1000);
    }
    echo "code of $name\n";
})) {
}
--HOWDAH--
option concurrency 4
worker {ROOT}/test.php
var QUERY_STRING name=a
push a
var QUERY_STRING name=b
push b
await b a
--EXPECT--
b: start of b
code of b
end of b

a: start of a
code of a
end of a
