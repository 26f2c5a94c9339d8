--TEST--
Worker mode: save handlers that boot set serve all requests, those of a request none but it
--INI--
session.save_path={ROOT}
session.use_strict_mode=0
log_errors=1
error_log=
--COOKIE--
PHPSESSID=abcd
--FILE--
<?php
class Handler extends SessionHandler
{
    public function __construct(private string $name)
    {
    }

    public function write(string $id, string $data): bool
    {
        error_log("$this->name writes $id $data");
        return parent::write($id, $data);
    }

    public function close(): bool
    {
        error_log("$this->name closes");
        return parent::close();
    }
}

session_set_save_handler(new Handler('boot'), isset($_SERVER['REGISTER']));
while (frankenphp_handle_request(function () {
    if (isset($_GET['own'])) {
        session_set_save_handler(new Handler('request'));
    } elseif (isset($_GET['module'])) {
        session_module_name('files');
    }
    session_start();
    $_SESSION['n'] = ($_SESSION['n'] ?? 0) + 1;
    echo session_module_name(), ' ', $_SESSION['n'], "\n";
})) {
}
--HOWDAH--
worker {ROOT}/test.php
show log
run
wait-log boot closes
var QUERY_STRING own=1
run
wait-log request closes
var QUERY_STRING module=1
run
var QUERY_STRING
run
wait-log boot closes
--EXPECT--
user 1

[log n 1] boot writes abcd n|i:1;
[log n 1] boot closes
user 2

[log n 2] request writes abcd n|i:2;
[log n 2] request closes
files 3

user 4

[log n 4] boot writes abcd n|i:4;
[log n 4] boot closes
