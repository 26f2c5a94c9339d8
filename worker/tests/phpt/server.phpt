--TEST--
$_SERVER holds the request's variables and not the environment; getenv() sees both
--HEADERS--
X-Custom: 1
X-Empty:
--VARS--
ODD.NAME=dot
NUM=5
--FILE--
<?php
$server = $_SERVER;
unset($server['REQUEST_TIME'], $server['REQUEST_TIME_FLOAT']);
foreach ($server as $name => $value) {
    echo "$name=$value\n";
}
var_dump(is_int($_SERVER['REQUEST_TIME']), getenv('NUM'), getenv('PATH') !== false, isset(getenv()['PATH'], getenv()['NUM']), getenv('NUM', true));
--EXPECT--
GATEWAY_INTERFACE=CGI/1.1
SERVER_SOFTWARE=howdah-test
SERVER_PROTOCOL=HTTP/1.1
SERVER_NAME=localhost
SERVER_PORT=80
REMOTE_ADDR=127.0.0.1
REQUEST_METHOD=GET
REQUEST_URI=/test.php
QUERY_STRING=
DOCUMENT_ROOT={ROOT}
SCRIPT_FILENAME={ROOT}/test.php
SCRIPT_NAME=/test.php
PHP_SELF=/test.php
HTTP_HOST=localhost
HTTP_X_CUSTOM=1
HTTP_X_EMPTY=
ODD_NAME=dot
NUM=5
bool(true)
string(1) "5"
bool(true)
bool(true)
bool(false)
