--TEST--
Worker mode: 2,000 requests that change everything leave no memory behind
--SKIPIF--
<?php
if (!function_exists('mb_detect_order')) {
    echo 'skip needs mbstring';
}
--INI--
session.save_path={ROOT}
session.use_strict_mode=0
log_errors=1
--FILE--
<?php
class Wrapper
{
    public $context;

    public function stream_open(): bool
    {
        return true;
    }
}

class Filter extends php_user_filter
{
}

function change(int $i): void
{
    ini_set('precision', '3');
    ini_set('memory_limit', '1G');
    error_reporting(0);
    set_time_limit(99);
    set_error_handler(fn () => $i);
    set_error_handler(null);
    set_exception_handler(fn () => $i);
    spl_autoload_register(fn () => $i, true, true);
    date_default_timezone_set('Asia/Tokyo');
    chdir('/');
    umask(0);
    putenv("REQUEST=$i");
    setlocale(LC_ALL, 'C');
    $_ENV['x'] = $i;
    stream_wrapper_register('request', 'Wrapper');
    $stream = fopen('request://x', 'r');
    stream_wrapper_unregister('ftp');
    stream_filter_register('request', 'Filter');
    stream_context_set_default(['http' => ['method' => "REQUEST$i"]]);
    stream_context_set_params(stream_context_get_default(), ['notification' => fn () => $i]);
    libxml_use_internal_errors(true);
    libxml_set_streams_context(stream_context_create([]));
    mb_internal_encoding('SJIS');
    mb_detect_order('UTF-8');
    strtok('a b', ' ');
    json_decode('{');
    @trigger_error('x');
    register_tick_function(fn () => $i);
    header_register_callback(fn () => null);
    output_add_rewrite_var('request', (string) $i);
    file_get_contents('php://input');
    session_set_save_handler(new class extends SessionHandler {}, false);
    session_id('request' . $i % 10);
    session_start();
    $_SESSION['i'] = $i;
}

$i = 0;
$first = 0;
while (frankenphp_handle_request(function () use (&$i, &$first) {
    $i++;
    if ($i === 200) {
        $first = memory_get_usage();
    } elseif ($i === 2200) {
        $grown = memory_get_usage() - $first;
        error_log('2,000 requests: memory ' . ($grown <= 0 ? 'is flat' : "grew by $grown bytes"));
    }
    change($i);
})) {
}
--HOWDAH--
worker {ROOT}/test.php
show log
bench 200
wait-log 2,000 requests
--EXPECTF--
200 requests, %a
[log n %d] 2,000 requests: memory is flat
