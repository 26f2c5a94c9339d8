--TEST--
Worker mode: getenv() returns the variables of its request, and none of another one
--FILE--
<?php
putenv('OF_THE_BOOT=of the boot');
while (frankenphp_handle_request(function () {
    $name = $_SERVER['HTTP_X_NAME'] ?? 'nothing';
    echo json_encode([getenv('OF_THE_BOOT'), getenv('HTTP_X_NAME'), getenv($name), getenv('OF_REQUEST_1'), getenv('OF_REQUEST_2')]), "\n";
    putenv("$name=here");
    echo json_encode([getenv($name), getenv('OF_REQUEST_1'), getenv('OF_REQUEST_2')]), "\n";
})) {
}
--HOWDAH--
worker {ROOT}/test.php
var HTTP_X_NAME OF_REQUEST_1
run
var HTTP_X_NAME OF_REQUEST_2
run
var HTTP_X_NAME
run
--EXPECT--
["of the boot","OF_REQUEST_1",false,false,false]
["here","here",false]

["of the boot","OF_REQUEST_2",false,false,false]
["here",false,"here"]

["of the boot",false,false,false,false]
["here",false,false]
