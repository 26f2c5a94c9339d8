--TEST--
Worker mode: superglobals, php://input, uploads and headers are those of the current request
--FILE--
<?php
while (frankenphp_handle_request(static function () {
    echo json_encode([$_GET, $_POST, $_COOKIE, array_map(static fn ($f) => [$f['name'], is_uploaded_file($f['tmp_name']), file_get_contents($f['tmp_name'])], $_FILES), $_REQUEST, file_get_contents('php://input'), file_get_contents('php://input'), headers_list(), http_response_code(), $_SERVER['REQUEST_METHOD'], isset($_SESSION)]);
    $_GET['leak'] = $_POST['leak'] = $_COOKIE['leak'] = $_REQUEST['leak'] = $_SERVER['LEAK'] = $_FILES['leak'] = 1;
    $_SESSION['leak'] = 1;
    $GLOBALS['_leak'] = 1;
    header('X-Leak: 1');
    http_response_code(418);
    ob_start();
})) {}
--INI--
request_order=GPC
--GET--
a=1
--POST_RAW--
Content-Type: multipart/form-data; boundary=b

--b
Content-Disposition: form-data; name="field"

value
--b
Content-Disposition: form-data; name="file"; filename="name.txt"

bytes
--b--

--COOKIE--
c=2
--HOWDAH--
worker {ROOT}/test.php
run
body none
var REQUEST_METHOD GET
var CONTENT_TYPE
var CONTENT_LENGTH
var HTTP_COOKIE
var QUERY_STRING
run
stop
--EXPECT--
[{"a":"1"},{"field":"value"},{"c":"2"},{"file":["name.txt",true,"bytes"]},{"a":"1","field":"value","c":"2"},"","",[],200,"POST",false]
[[],[],[],[],[],"","",[],200,"GET",false]
