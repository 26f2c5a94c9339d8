--TEST--
Worker mode: detect_leaks names state of the process, which the pool keeps here
--SKIPIF--
<?php
foreach (['gettext', 'libxml', 'mbstring', 'pcntl', 'pdo_sqlite', 'posix', 'session'] as $extension) {
    if (!extension_loaded($extension)) {
        echo "skip without $extension";
    }
}
--FILE--
<?php
function handler(): bool
{
    return false;
}

class Filter extends php_user_filter
{
}

class Wrapper
{
    public $context;
}

$database = new PDO('sqlite::memory:');
$actions = [
    'ini' => fn () => ini_set('precision', '9'),
    'error' => fn () => set_error_handler('handler'),
    'exception' => fn () => set_exception_handler('handler'),
    'autoload' => fn () => spl_autoload_register(fn () => null),
    'locale' => fn () => setlocale(LC_ALL, 'C.UTF-8'),
    'zone' => fn () => date_default_timezone_set('Asia/Tokyo'),
    'encoding' => fn () => mb_internal_encoding('ISO-8859-1'),
    'folder' => fn () => chdir('/'),
    'umask' => fn () => umask(0011),
    'env' => fn () => putenv('APP_MODE=test'),
    'env_secret' => fn () => putenv('DB_PASSWORD=swordfish'),
    'wrapper' => fn () => stream_wrapper_register('leak', 'Wrapper'),
    'filter' => fn () => stream_filter_register('leak', 'Filter'),
    'signal' => fn () => pcntl_signal(SIGUSR1, 'handler'),
    'transaction' => fn () => $database->beginTransaction(),
    'shutdown' => fn () => $GLOBALS['after'] = fn () => register_shutdown_function('handler'),
    'session' => fn () => $GLOBALS['after'] = fn () => session_start(),
    'buffer' => fn () => $GLOBALS['after'] = fn () => ob_start(),
    'alarm' => fn () => $GLOBALS['after'] = fn () => pcntl_alarm(100),
    'silence' => fn () => @trigger_error('not shown'),
    'no_wrapper' => fn () => stream_wrapper_unregister('data'),
    'libxml' => fn () => libxml_use_internal_errors(true),
    'priority' => fn () => proc_nice(1),
    'limit' => fn () => posix_setrlimit(POSIX_RLIMIT_FSIZE, 1 << 40, 1 << 40),
    'async' => fn () => pcntl_async_signals(true),
    'mask' => fn () => $GLOBALS['after'] = fn () => pcntl_sigprocmask(SIG_BLOCK, [SIGUSR2]),
    'domain' => fn () => $GLOBALS['after'] = fn () => textdomain('leak'),
    'tick' => fn () => $GLOBALS['after'] = fn () => register_tick_function('handler'),
];
$after = null;
$handle = function () use ($actions) {
    $actions[$_GET['do']]();
};
while (frankenphp_handle_request($handle)) {
    if ($after) {
        $after();
        $after = null;
    }
}
--HOWDAH--
worker {ROOT}/test.php
option keep 1023
option detect_leaks_sample 1
show log
var REQUEST_URI /ini
var QUERY_STRING do=ini
run
wait-log "uri":"/ini"
var REQUEST_URI /error
var QUERY_STRING do=error
run
wait-log "uri":"/error"
var REQUEST_URI /exception
var QUERY_STRING do=exception
run
wait-log "uri":"/exception"
var REQUEST_URI /autoload
var QUERY_STRING do=autoload
run
wait-log "uri":"/autoload"
var REQUEST_URI /locale
var QUERY_STRING do=locale
run
wait-log "uri":"/locale"
var REQUEST_URI /zone
var QUERY_STRING do=zone
run
wait-log "uri":"/zone"
var REQUEST_URI /encoding
var QUERY_STRING do=encoding
run
wait-log "uri":"/encoding"
var REQUEST_URI /folder
var QUERY_STRING do=folder
run
wait-log "uri":"/folder"
var REQUEST_URI /umask
var QUERY_STRING do=umask
run
wait-log "uri":"/umask"
var REQUEST_URI /env
var QUERY_STRING do=env
run
wait-log "uri":"/env"
var REQUEST_URI /env_secret
var QUERY_STRING do=env_secret
run
wait-log "uri":"/env_secret"
var REQUEST_URI /wrapper
var QUERY_STRING do=wrapper
run
wait-log "uri":"/wrapper"
var REQUEST_URI /filter
var QUERY_STRING do=filter
run
wait-log "uri":"/filter"
var REQUEST_URI /signal
var QUERY_STRING do=signal
run
wait-log "uri":"/signal"
var REQUEST_URI /transaction
var QUERY_STRING do=transaction
run
wait-log "uri":"/transaction"
var REQUEST_URI /session
var QUERY_STRING do=session
run
wait-log "uri":"/session"
var REQUEST_URI /buffer
var QUERY_STRING do=buffer
run
wait-log "uri":"/buffer"
var REQUEST_URI /alarm
var QUERY_STRING do=alarm
run
wait-log "uri":"/alarm"
var REQUEST_URI /tick
var QUERY_STRING do=tick
run
wait-log "uri":"/tick"
var REQUEST_URI /silence
var QUERY_STRING do=silence
run
var REQUEST_URI /no_wrapper
var QUERY_STRING do=no_wrapper
run
wait-log "uri":"/no_wrapper"
var REQUEST_URI /libxml
var QUERY_STRING do=libxml
run
wait-log "uri":"/libxml"
var REQUEST_URI /priority
var QUERY_STRING do=priority
run
wait-log "uri":"/priority"
var REQUEST_URI /limit
var QUERY_STRING do=limit
run
wait-log "uri":"/limit"
var REQUEST_URI /async
var QUERY_STRING do=async
run
wait-log "uri":"/async"
var REQUEST_URI /mask
var QUERY_STRING do=mask
run
wait-log "uri":"/mask"
var REQUEST_URI /domain
var QUERY_STRING do=domain
run
wait-log "uri":"/domain"
var REQUEST_URI /shutdown
var QUERY_STRING do=shutdown
run
wait-log "uri":"/shutdown"
stop
--EXPECTF--
[log l 1] {"kind":"ini setting","why":"left behind","path":"precision","value":"9","method":"GET","uri":"/ini"}

[log l 2] {"kind":"error handler","why":"left behind","path":"set_error_handler()","value":"handler","count_before":0,"count":1,"method":"GET","uri":"/error"}

[log l 3] {"kind":"exception handler","why":"left behind","path":"set_exception_handler()","value":"handler","count_before":0,"count":1,"method":"GET","uri":"/exception"}

[log l 4] {"kind":"autoloader","why":"left behind","path":"spl_autoload_functions()","value":"{closure} {ROOT}/test.php:21","count_before":0,"count":1,"method":"GET","uri":"/autoload"}

[log l 5] {"kind":"locale","why":"left behind","path":"setlocale()","value":"C.UTF-8","method":"GET","uri":"/locale"}

[log l 6] {"kind":"time zone","why":"left behind","path":"date_default_timezone_set()","value":"Asia/Tokyo","method":"GET","uri":"/zone"}

[log l 7] {"kind":"encoding","why":"left behind","path":"mb_internal_encoding()","value":"ISO-8859-1","method":"GET","uri":"/encoding"}

[log l 8] {"kind":"working directory","why":"left behind","path":"chdir()","value":"/","method":"GET","uri":"/folder"}

[log l 9] {"kind":"umask","why":"left behind","path":"umask()","value":"0011","method":"GET","uri":"/umask"}

[log l 10] {"kind":"environment variable","why":"left behind","path":"APP_MODE","value":"test","method":"GET","uri":"/env"}

[log l 11] {"kind":"environment variable","why":"left behind","path":"DB_PASSWORD","value":"(hidden)","method":"GET","uri":"/env_secret"}

[log l 12] {"kind":"stream wrapper","why":"left behind","path":"stream_wrapper_register()","value":"leak","count_before":0,"count":1,"method":"GET","uri":"/wrapper"}

[log l 13] {"kind":"stream filter","why":"left behind","path":"stream_filter_register()","value":"leak","count_before":0,"count":1,"method":"GET","uri":"/filter"}

[log l 14] {"kind":"signal handler","why":"left behind","path":"SIGUSR1","value":"","method":"GET","uri":"/signal"}

[log w 15] rolled back a transaction that the request left open on sqlite (PDO)
[log l 15] {"kind":"transaction","why":"left behind","path":"open transactions","value":"sqlite (PDO)","count_before":0,"count":1,"method":"GET","uri":"/transaction"}

[log l 16] {"kind":"session","why":"left behind","path":"session_start()","value":"(hidden)","count_before":0,"count":1,"method":"GET","uri":"/session"}

[log l 17] {"kind":"output buffer","why":"left behind","path":"ob_start()","value":"","count_before":0,"count":1,"method":"GET","uri":"/buffer"}

[log l 18] {"kind":"timer","why":"left behind","path":"alarm","value":"","count_before":0,"count":1,"method":"GET","uri":"/alarm"}

[log l 19] {"kind":"tick function","why":"left behind","path":"register_tick_function()","value":"","count_before":0,"count":1,"method":"GET","uri":"/tick"}


[log l 21] {"kind":"stream wrapper","why":"left behind","path":"stream_wrapper_unregister()","value":"data","count_before":0,"count":1,"method":"GET","uri":"/no_wrapper"}

[log l 22] {"kind":"libxml setting","why":"left behind","path":"libxml_use_internal_errors()","value":"true","method":"GET","uri":"/libxml"}

[log l 23] {"kind":"priority","why":"left behind","path":"proc_nice()","value":"%s","method":"GET","uri":"/priority"}

[log l 24] {"kind":"resource limit","why":"left behind","path":"filesize","value":"1099511627776, at most 1099511627776","method":"GET","uri":"/limit"}

[log l 25] {"kind":"signal handler","why":"left behind","path":"pcntl_async_signals()","value":"true","method":"GET","uri":"/async"}

[log l 26] {"kind":"signal mask","why":"left behind","path":"pcntl_sigprocmask()","value":"SIGUSR2","method":"GET","uri":"/mask"}

[log l 27] {"kind":"text domain","why":"left behind","path":"textdomain()","value":"leak","method":"GET","uri":"/domain"}

[log l 28] {"kind":"shutdown function","why":"left behind","path":"register_shutdown_function()","value":"","count_before":0,"count":1,"method":"GET","uri":"/shutdown"}
