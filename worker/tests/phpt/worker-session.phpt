--TEST--
Worker mode: a session and its settings are of its request
--INI--
session.save_path={ROOT}
session.use_strict_mode=0
--FILE--
<?php
while (frankenphp_handle_request(function () {
    echo session_status() === PHP_SESSION_NONE ? 'none' : 'active', ' ', session_id() ?: 'no id', ' ', session_name(), ' ', isset($_SESSION) ? 'leaked' : 'clean', "\n";
    switch ($_GET['do'] ?? '') {
        case 'count':
            session_start();
            echo session_id(), ' ', $_SESSION['n'] = ($_SESSION['n'] ?? 0) + 1, "\n";
            break;
        case 'exit':
            session_start();
            $_SESSION['n'] = 100;
            exit;
        case 'throw':
            session_start();
            $_SESSION['n'] = 200;
            throw new Exception('with a session');
        case 'forced':
            session_name('OTHER');
            session_id('forced');
            session_set_cookie_params(['path' => '/other']);
            session_start();
            break;
        case 'back':
            session_name('PHPSESSID');
            break;
        case 'unstarted':
            $_SESSION['n'] = 300;
            break;
        case 'destroy':
            session_start();
            session_destroy();
            break;
    }
})) {
}
--HOWDAH--
worker {ROOT}/test.php
var QUERY_STRING do=count
var HTTP_COOKIE PHPSESSID=aaaa
run
var HTTP_COOKIE PHPSESSID=bbbb
run
var HTTP_COOKIE PHPSESSID=aaaa
run
var QUERY_STRING do=exit
run
var QUERY_STRING do=count
run
var QUERY_STRING do=throw
run
var QUERY_STRING do=count
run
var QUERY_STRING do=forced
run
var QUERY_STRING do=back
run
var QUERY_STRING do=unstarted
run
var QUERY_STRING do=count
run
var QUERY_STRING do=destroy
run
var QUERY_STRING do=count
run
var HTTP_COOKIE
var QUERY_STRING
run
--EXPECTF--
none no id PHPSESSID clean
aaaa 1

none no id PHPSESSID clean
bbbb 1

none no id PHPSESSID clean
aaaa 2

none no id PHPSESSID clean

none no id PHPSESSID clean
aaaa 101

none no id PHPSESSID clean

Fatal error: Uncaught Exception: with a session in {ROOT}/test.php:%d
%A
none no id PHPSESSID clean
aaaa 201

none no id PHPSESSID clean

none no id PHPSESSID clean

none no id PHPSESSID clean

none no id PHPSESSID clean
aaaa 202

none no id PHPSESSID clean

none no id PHPSESSID clean
aaaa 1

none no id PHPSESSID clean
