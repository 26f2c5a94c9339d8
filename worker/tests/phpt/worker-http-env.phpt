--TEST--
Worker mode: http\Env has headers and body of the current request
--EXTENSIONS--
raphf
http
--FILE--
<?php
while (frankenphp_handle_request(static function () {
    echo http\Env::getRequestHeader('X-Who'), ' ', (new http\Env\Request())->getHeader('X-Who');
})) {
}
--HOWDAH--
worker {ROOT}/test.php
var HTTP_X_WHO alice
push one
await one
var HTTP_X_WHO bob
push two
await two
stop
--EXPECT--
one: alice alice
two: bob bob
