--TEST--
Worker mode: invalid input causes a warning of the start, which no handler of the application sees
--INI--
max_input_vars=2
post_max_size=20
display_startup_errors=1
--FILE--
<?php
set_error_handler(static function (int $level, string $message): never {
    throw new ErrorException("handler: $message, of " . json_encode($_GET));
});
set_exception_handler(static function (Throwable $exception): void {
    echo 'page of ', $exception->getMessage(), "\n";
});
class Dropped
{
    public function __destruct()
    {
        throw new Exception('a destructor, of ' . json_encode($_GET));
    }
}
while (frankenphp_handle_request(static function (): void {
    echo json_encode([$_GET, $_POST, count($_REQUEST)]), "\n";
    if (isset($_GET['drop'])) {
        $_GET['dropped'] = new Dropped;
    }
    if (isset($_GET['warn'])) {
        echo $undefined;
    }
})) {
}
--HOWDAH--
worker {ROOT}/test.php
var QUERY_STRING drop=1
run
var QUERY_STRING a=1&b=2&c=3
run
body inline {ROOT}/body
var REQUEST_METHOD POST
var CONTENT_TYPE application/x-www-form-urlencoded
var CONTENT_LENGTH 31
var QUERY_STRING d=4
run
body none
var REQUEST_METHOD GET
var CONTENT_TYPE
var CONTENT_LENGTH
var QUERY_STRING warn=1
run
--FILE body--
a=1234567890123456789012345678
--EXPECTF--
[{"drop":"1"},[],1]


Warning: PHP Request Startup: Input variables exceeded 2. %s
[{"a":"1","b":"2"},[],2]


Warning: PHP Request Startup: POST Content-Length of 31 bytes exceeds the limit of 20 bytes in %s
[{"d":"4"},[],1]

[{"warn":"1"},[],1]
page of handler: Undefined variable $undefined, of {"warn":"1"}
