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
fastcgi_finish_request: bool
apache_request_headers: array
getallheaders: array
apache_response_headers: array
howdah_request_id: string
