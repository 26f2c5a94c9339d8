--TEST--
getallheaders(), apache_request_headers(), apache_response_headers()
--HEADERS--
X-Some-Thing: v
Accept: */*
--POST--
a=1
--FILE--
<?php
header('X-Out: 1');
header('X-Out: 2', false);
echo json_encode([getallheaders(), apache_request_headers() === getallheaders(), apache_response_headers()]), "\n";
foreach ((new ReflectionExtension('howdah'))->getFunctions() as $function) {
    echo $function->getName(), ': ', $function->getReturnType(), "\n";
}
--EXPECT--
[{"Host":"localhost","Content-Type":"application\/x-www-form-urlencoded","Content-Length":"3","X-Some-Thing":"v","Accept":"*\/*"},true,{"X-Out":"2"}]
frankenphp_handle_request: bool
howdah_handle_request: bool
howdah_after_fork: void
howdah_on_request_start: void
howdah_on_request_end: void
headers_send: int
fastcgi_finish_request: bool
frankenphp_finish_request: bool
apache_request_headers: array
getallheaders: array
frankenphp_request_headers: array
apache_response_headers: array
frankenphp_response_headers: array
frankenphp_log: void
howdah_request_id: string
howdah_pool: object
mercure_publish: string
Howdah\spawn: Howdah\Coroutine
Howdah\await: mixed
Howdah\all: array
Howdah\race: mixed
Howdah\timeout: mixed
