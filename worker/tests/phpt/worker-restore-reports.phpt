--TEST--
Worker mode: error reporting of mysqli, SOAP and autoloading is restored, and no error or alarm of a request is left
--SKIPIF--
<?php
foreach (['mysqli', 'soap', 'pcntl'] as $extension) {
    if (!extension_loaded($extension)) {
        echo "skip $extension is not loaded";
    }
}
--FILE--
<?php
mysqli_report(MYSQLI_REPORT_ALL);
spl_autoload_extensions('.boot');
while (frankenphp_handle_request(static function () {
    $soap = use_soap_error_handler();
    echo json_encode([
        (new mysqli_driver())->report_mode, mysqli_connect_errno(), mysqli_connect_error(),
        $soap, spl_autoload_extensions(), preg_last_error(), pcntl_alarm(0),
    ]), "\n";
    pcntl_alarm(3600);
    preg_match('/\xff/u', "\xff");
    spl_autoload_extensions('.request');
    mysqli_report(MYSQLI_REPORT_OFF);
    @mysqli_connect('127.0.0.1', 'nobody', '', '', 1);
    echo mysqli_connect_errno(), ' ', preg_last_error(), "\n";
})) {
}
--HOWDAH--
worker {ROOT}/test.php
run
run
--EXPECT--
[255,0,null,false,".boot",0,0]
2002 4

[255,0,null,false,".boot",0,0]
2002 4
