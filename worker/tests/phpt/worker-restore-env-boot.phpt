--TEST--
Worker mode: values that the boot wrote to $_ENV stay, values of a request do not
--INI--
variables_order=EGPCS
--FILE--
<?php
$_ENV['BOOT'] = 'boot';
while (frankenphp_handle_request(function () {
    echo $_ENV['BOOT'] ?? 'nothing', ' ', $_ENV['REQUEST'] ?? 'nothing', "\n";
    $_ENV['BOOT'] = $_ENV['REQUEST'] = 'request';
    if (isset($_GET['replace'])) {
        $_ENV = [];
    }
})) {
}
--HOWDAH--
worker {ROOT}/test.php
run
var QUERY_STRING replace=1
run
run
--EXPECT--
boot nothing

boot nothing

boot nothing
