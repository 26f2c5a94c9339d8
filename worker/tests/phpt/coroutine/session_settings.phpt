--TEST--
Coroutines: settings of a session that a request makes are neither those of others nor of later ones
--FILE--
<?php
session_set_cookie_params(['lifetime' => 77]); // of the boot: those of all
$place = new stdClass();
while (frankenphp_handle_request(function () use ($place) {
    if ($_GET['do'] === 'set') {
        session_name('ADMIN');
        session_save_path(__DIR__);
        session_cache_limiter('public');
        session_cache_expire(7);
        session_module_name('files');
        session_set_cookie_params(['path' => '/admin', 'secure' => true, 'lifetime' => 5]);
        ini_set('session.use_strict_mode', '1');
        @ini_set('session.sid_length', '40'); // deprecated since PHP 8.4
        ini_set('session.gc_maxlifetime', '9');
    }
    if ($_GET['do'] !== 'later') {
        $place->here = ($place->here ?? 0) + 1;
        while ($place->here < 2) {
            usleep(500);
        }
    }
    $cookie = session_get_cookie_params();
    echo session_name(), ' ', basename(session_save_path()) === basename(__DIR__) ? 'own path' : 'path', ' ', session_cache_limiter(), ' ',
        session_cache_expire(), ' ', $cookie['path'], ' ', json_encode($cookie['secure']), ' ', $cookie['lifetime'], ' ',
        ini_get('session.use_strict_mode'), ' ', ini_get('session.sid_length'), ' ', ini_get('session.gc_maxlifetime'), "\n";
})) {
}
--INI--
session.save_path=/tmp
session.cache_limiter=nocache
session.cache_expire=180
session.use_strict_mode=0
session.sid_length=32
session.gc_maxlifetime=1440
--HOWDAH--
worker {ROOT}/test.php
option concurrency 2
var QUERY_STRING do=began
push began
var QUERY_STRING do=set
push set
await began
await set
var QUERY_STRING do=later
run
--EXPECT--
began: PHPSESSID path nocache 180 / false 77 0 32 1440

set: ADMIN own path public 7 /admin true 5 1 40 9

PHPSESSID path nocache 180 / false 77 0 32 1440
