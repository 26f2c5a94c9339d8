--TEST--
Coroutines: each setting and last error that a function of PHP keeps in the process is its request's
--EXTENSIONS--
ctype
intl
ldap
mysqli
odbc
simplexml
sockets
--FILE--
<?php
/** Returns when $count requests are here. */
function meet(int $count, stdClass $place): void
{
    $place->round ??= 0;
    $place->here = ($place->here ?? 0) + 1;
    $round = $place->round;
    if ($place->here === $count) {
        $place->here = 0;
        $place->round++;
    }
    while ($place->round === $round) {
        usleep(500);
    }
}

/**
 * What is set, or makes an error, for request 1 and for request 2, and what shows it. The extensions that are not
 * loaded are left out.
 *
 * @return array<string, array{Closure(int): mixed, Closure(): mixed}>
 */
function table(): array
{
    $of = static fn (string $function): Closure => static fn () => $function();
    $name = static fn (int $n): string => $n === 1 ? 'ISO-8859-1' : 'SJIS';
    $all = [
        'assert_options' => [fn ($n) => @ini_set('assert.callback', "call$n"), fn () => ini_get('assert.callback')],
        'bcscale' => [fn ($n) => bcscale($n), $of('bcscale')],
        'chdir' => [fn ($n) => chdir($n === 1 ? '/' : '/usr'), $of('getcwd')],
        'date_default_timezone_set' => [
            fn ($n) => date_default_timezone_set($n === 1 ? 'Asia/Tokyo' : 'America/Lima'), $of('date_default_timezone_get'),
        ],
        'date_get_last_errors' => [fn ($n) => date_create($n === 1 ? 'x y z' : '31.2.2024 xx'), $of('date_get_last_errors')],
        'error_get_last' => [fn ($n) => @trigger_error("error $n"), fn () => error_get_last()['message'] ?? null],
        'error_reporting' => [fn ($n) => error_reporting(E_ALL ^ $n), $of('error_reporting')],
        'gc_disable' => [fn ($n) => $n === 1 ? gc_disable() : gc_enable(), $of('gc_enabled')],
        'http_response_code' => [fn ($n) => http_response_code(200 + $n), $of('http_response_code')],
        'iconv_set_encoding' => [
            fn ($n) => @iconv_set_encoding('internal_encoding', $name($n)), fn () => iconv_get_encoding('internal_encoding'),
        ],
        'ignore_user_abort' => [fn ($n) => ignore_user_abort($n === 1), $of('ignore_user_abort')],
        'ini_set' => [fn ($n) => ini_set('precision', 5 + $n), fn () => ini_get('precision')],
        'intl_get_error_code' => [
            fn ($n) => $n === 1 ? msgfmt_create('de', '{0,') : grapheme_strlen("\xff"),
            fn () => intl_get_error_code() . intl_get_error_message(),
        ],
        'json_last_error' => [fn ($n) => json_decode($n === 1 ? '{' : '"\ud800"'), $of('json_last_error_msg')],
        'ldap_set_option' => [
            fn ($n) => ldap_set_option(null, LDAP_OPT_SIZELIMIT, $n),
            fn () => ldap_get_option(ldap_connect('ldap://127.0.0.1:1'), LDAP_OPT_SIZELIMIT, $limit) ? $limit : null,
        ],
        'libxml_get_errors' => [
            fn ($n) => [libxml_use_internal_errors(true), libxml_clear_errors(), simplexml_load_string($n === 1 ? '<a' : '<b></c>')],
            fn () => array_column(libxml_get_errors(), 'message'),
        ],
        'libxml_use_internal_errors' => [fn ($n) => libxml_use_internal_errors($n === 1), $of('libxml_use_internal_errors')],
        'Locale::setDefault' => [fn ($n) => Locale::setDefault($n === 1 ? 'de_AT' : 'pt_BR'), fn () => Locale::getDefault()],
        'mb_detect_order' => [fn ($n) => mb_detect_order([$name($n)]), $of('mb_detect_order')],
        'mb_http_output' => [fn ($n) => mb_http_output($name($n)), $of('mb_http_output')],
        'mb_internal_encoding' => [fn ($n) => mb_internal_encoding($name($n)), $of('mb_internal_encoding')],
        'mb_language' => [fn ($n) => mb_language($n === 1 ? 'Japanese' : 'German'), $of('mb_language')],
        'mb_regex_encoding' => [fn ($n) => mb_regex_encoding($n === 1 ? 'EUC-JP' : 'SJIS'), $of('mb_regex_encoding')],
        'mb_regex_set_options' => [fn ($n) => mb_regex_set_options($n === 1 ? 'x' : 'im'), $of('mb_regex_set_options')],
        'mb_substitute_character' => [fn ($n) => mb_substitute_character(64 + $n), $of('mb_substitute_character')],
        'mt_srand' => [fn ($n) => mt_srand($n), fn () => [mt_rand(), rand(), array_rand(range(0, 999))]],
        'mysqli_connect_errno' => [
            fn ($n) => [mysqli_report(MYSQLI_REPORT_OFF), @mysqli_connect($n === 1 ? '127.0.0.1' : 'localhost', port: 1, socket: '/none')],
            fn () => mysqli_connect_errno() . mysqli_connect_error(),
        ],
        'mysqli_report' => [
            fn ($n) => mysqli_report($n === 1 ? MYSQLI_REPORT_OFF : MYSQLI_REPORT_STRICT), fn () => (new mysqli_driver())->report_mode,
        ],
        'odbc_error' => [
            fn ($n) => @odbc_connect($n === 1 ? 'Driver=none' : str_repeat('name', 40), '', ''), fn () => odbc_error() . odbc_errormsg(),
        ],
        'openssl_error_string' => [
            fn ($n) => [forget_openssl(), $n === 1 ? @openssl_pkey_get_private('none') : @openssl_x509_read('none')],
            $of('openssl_error_string'),
        ],
        'pcntl_get_last_error' => [fn ($n) => $n === 1 ? @pcntl_getpriority(99999999) : pcntl_waitpid(-1, $status, WNOHANG), $of('pcntl_get_last_error')],
        'posix_get_last_error' => [fn ($n) => posix_kill($n === 1 ? 99999999 : getmypid(), $n === 1 ? 0 : 9999), $of('posix_get_last_error')],
        'preg_last_error' => [
            fn ($n) => $n === 1 ? preg_match('/(?:\D+|<\d+>)*[!?]/', 'foobar foobar foobar') : preg_match('/a/u', "\xff"), $of('preg_last_error_msg'),
        ],
        'putenv' => [fn ($n) => putenv("HOWDAH_TABLE=$n"), fn () => getenv('HOWDAH_TABLE')],
        'session_name' => [fn ($n) => session_name("name$n"), $of('session_name')],
        'session_cache_limiter' => [fn ($n) => session_cache_limiter($n === 1 ? 'public' : 'private'), $of('session_cache_limiter')],
        'set_error_handler' => [fn ($n) => set_error_handler("handle$n"), fn () => [set_error_handler(null), restore_error_handler()][0]],
        'set_include_path' => [fn ($n) => set_include_path("/$n"), $of('get_include_path')],
        'setlocale' => [fn ($n) => setlocale(LC_CTYPE, $n === 1 ? 'C.UTF-8' : 'C'), fn () => setlocale(LC_CTYPE, 0)],
        'socket_last_error' => [
            fn ($n) => @socket_create($n === 1 ? AF_INET : AF_INET6, $n === 1 ? SOCK_RDM : SOCK_SEQPACKET, 99), $of('socket_last_error'),
        ],
        'spl_autoload_extensions' => [fn ($n) => spl_autoload_extensions(".$n"), $of('spl_autoload_extensions')],
        'stream_context_set_default' => [
            fn ($n) => stream_context_set_default(['http' => ['method' => "M$n"]]),
            fn () => stream_context_get_options(stream_context_get_default()),
        ],
        'strtok' => [fn ($n) => strtok("first$n second$n third$n", ' '), fn () => strtok(' ')],
        'textdomain' => [fn ($n) => textdomain("domain$n"), fn () => textdomain(null)],
        'umask' => [fn ($n) => umask($n), fn () => umask()],
    ];
    $needed = ['iconv_set_encoding' => 'iconv_strlen', 'libxml_get_errors' => 'simplexml_load_string', 'set_include_path' => 'chdir',
        'assert_options' => 'assert', 'ini_set' => 'ini_get', 'Locale::setDefault' => 'grapheme_strlen'];
    return array_filter($all, static fn (string $name): bool => function_exists($needed[$name] ?? $name), ARRAY_FILTER_USE_KEY);
}

function handle1(): bool
{
    return true;
}

function handle2(): bool
{
    return false;
}

function forget_openssl(): void
{
    while (openssl_error_string() !== false);
}

/** The value right after it was set, without a wait. */
function at_once(array $entry, int $n): mixed
{
    $entry[0]($n);
    return $entry[1]();
}

$place = new stdClass();
$place->shown = array_map(static fn (array $entry) => $entry[1](), table());
while (frankenphp_handle_request(static function () use ($place) {
    $n = (int) $_GET['n'];
    $wrong = [];
    foreach (table() as $name => $entry) {
        $right = $n ? at_once($entry, $n) : $place->shown[$name];
        meet(3, $place);
        if ($n) {
            $entry[0]($n);
        }
        meet(3, $place);
        $shown = $entry[1]();
        if ($shown !== $right && ($n || $name !== 'mt_srand')) {
            $wrong[] = $name . ' is ' . json_encode($shown) . ', not ' . json_encode($right);
        }
        meet(3, $place);
    }
    http_response_code(200);
    header_remove();
    echo $wrong ? implode("\n", $wrong) : 'right';
})) {
}
--HOWDAH--
worker {ROOT}/test.php
option concurrency 3
var QUERY_STRING n=0
push none
var QUERY_STRING n=1
push one
var QUERY_STRING n=2
push two
await all
var QUERY_STRING n=0
push a
push b
push c
await all
stop
--EXPECT--
none: right
one: right
two: right
a: right
b: right
c: right
