<?php
// Changes state that must not outlive a request, and prints the state that it found.
$found = [
    'timezone' => date_default_timezone_get(),
    'precision' => ini_get('precision'),
    'locale' => setlocale(LC_ALL, '0'),
    'cwd' => getcwd() === __DIR__,
    'umask' => umask(),
    'env' => getenv('HOWDAH_LEAK'),
    'mb' => mb_internal_encoding(),
    'level' => ob_get_level(),
    'handler' => set_error_handler(fn () => true) !== null,
    'time_limit' => ini_get('max_execution_time'),
    'abort' => ignore_user_abort(),
    'code' => http_response_code(),
    'headers' => array_values(array_filter(headers_list(), fn ($h) => stripos($h, 'x-leak') === 0)),
    'constant' => defined('LEAK'),
    'class' => class_exists('Leak', false),
    'wrapper' => in_array('leak', stream_get_wrappers(), true),
    'session' => session_status(),
];
date_default_timezone_set('Pacific/Apia');
ini_set('precision', '3');
setlocale(LC_ALL, 'C.UTF-8');
chdir('/');
umask(0);
putenv('HOWDAH_LEAK=yes');
mb_internal_encoding('ISO-8859-1');
set_time_limit(77);
ignore_user_abort(true);
header('X-Leak: yes');
define('LEAK', 1);
eval('class Leak {}');
stream_wrapper_register('leak', 'stdClass');
session_start();
ob_start();
ob_start();
echo json_encode($found);
