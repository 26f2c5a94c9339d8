--TEST--
Coroutines: http\Env has headers and body of the current request
--EXTENSIONS--
raphf
http
--FILE--
<?php
while (frankenphp_handle_request(static function () {
    for ($i = 0; $i < 20; $i++) {
        usleep(500);
        $seen[http\Env::getRequestHeader('X-Who') . ' ' . (new http\Env\Request())->getHeader('X-Who')] = true;
    }
    echo implode(', ', array_keys($seen));
})) {
}
--HOWDAH--
option concurrency 2
worker {ROOT}/test.php
var HTTP_X_WHO alice
push one
var HTTP_X_WHO bob
push two
await one
await two
stop
--EXPECT--
one: alice alice
two: bob bob
