<?php

// State outside of itself that a request can change. `?what=NAME` prints it, and `?what=NAME&change` changes it first.
// The response contains the process id, because only two requests of one process can be compared.

declare(strict_types=1);

require_once __DIR__ . '/OpensNothing.inc';
require_once __DIR__ . '/PassesAll.inc';
require_once __DIR__ . '/_executor.php';

$database = new PDO('sqlite::memory:', options: [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]);
$database->exec('CREATE TABLE t (n INTEGER)');

/** @var array<string, array{Closure(): mixed, Closure(): mixed}> $state how to change it, how to see it */
$state = [
    'nothing' => [static fn () => null, static fn () => isset($_GET['change'])],
    'get' => [static fn () => $_GET['extra'] = 'x', static fn () => $_GET['extra'] ?? null],
    'post' => [static fn () => $_POST['extra'] = 'x', static fn () => $_POST],
    'cookie' => [static fn () => $_COOKIE['extra'] = 'x', static fn () => $_COOKIE],
    'files' => [static fn () => $_FILES['extra'] = 'x', static fn () => $_FILES],
    'request' => [static fn () => $_REQUEST['extra'] = 'x', static fn () => $_REQUEST['extra'] ?? null],
    'server' => [static fn () => $_SERVER['EXTRA'] = 'x', static fn () => $_SERVER['EXTRA'] ?? null],
    'env' => [static fn () => $_ENV['EXTRA'] = 'x', static fn () => $_ENV['EXTRA'] ?? null],
    'session' => [
        static function (): void {
            session_start();
            $_SESSION['extra'] = 'x';
        },
        static fn () => [$_SESSION ?? null, session_status(), session_id() !== ''],
    ],
    'session_name' => [static fn () => session_name('other'), static fn () => session_name()],
    'session_cookie' => [
        static fn () => session_set_cookie_params(['path' => '/other', 'lifetime' => 7]),
        static fn () => session_get_cookie_params(),
    ],
    'ini' => [static fn () => ini_set('precision', '3'), static fn () => ini_get('precision')],
    'memory_limit' => [static fn () => ini_set('memory_limit', '99M'), static fn () => ini_get('memory_limit')],
    'display_errors' => [
        static fn () => ini_set('display_errors', ini_get('display_errors') ? '0' : '1'),
        static fn () => ini_get('display_errors'),
    ],
    'include_path' => [static fn () => set_include_path('/elsewhere'), static fn () => get_include_path()],
    'error_reporting' => [static fn () => error_reporting(E_ERROR), static fn () => error_reporting()],
    'time_limit' => [static fn () => set_time_limit(77), static fn () => ini_get('max_execution_time')],
    'user_abort' => [
        static fn () => ignore_user_abort(ini_get('ignore_user_abort') !== '1'),
        static fn () => ini_get('ignore_user_abort'),
    ],
    'gc' => [static fn () => gc_disable(), static fn () => gc_enabled()],
    'locale' => [
        static fn () => setlocale(LC_ALL, 'C.UTF-8', 'C.utf8', 'POSIX'),
        static fn () => setlocale(LC_ALL, '0'),
    ],
    'intl_locale' => [
        static fn () => class_exists('Locale') && Locale::setDefault('de_DE'),
        static fn () => class_exists('Locale') ? Locale::getDefault() : isset($_GET['change']) && 'no intl',
    ],
    'timezone' => [
        static fn () => date_default_timezone_set('Asia/Kolkata'),
        static fn () => [date_default_timezone_get(), date('T', 0)],
    ],
    'cwd' => [static fn () => chdir('/'), static fn () => getcwd()],
    'umask' => [static fn () => umask(0o077 ^ umask()), static fn () => umask()],
    'putenv' => [static fn () => putenv('EXTRA=x'), static fn () => [getenv('EXTRA'), getenv()['EXTRA'] ?? null]],
    'temp_dir' => [static fn () => putenv('TMPDIR=/var/tmp'), static fn () => sys_get_temp_dir()],
    'putenv_path' => [static fn () => putenv('PATH=/nowhere'), static fn () => getenv('PATH')],
    'error_handler' => [
        static fn () => set_error_handler(static fn (): bool => true),
        static function (): bool {
            $handler = set_error_handler(null);
            restore_error_handler();
            return $handler !== null;
        },
    ],
    'exception_handler' => [
        static fn () => set_exception_handler(static fn () => null),
        static function (): bool {
            $handler = set_exception_handler(null);
            restore_exception_handler();
            return $handler !== null;
        },
    ],
    'autoload' => [
        static fn () => spl_autoload_register(static fn () => null, prepend: true),
        static fn () => count(spl_autoload_functions()),
    ],
    'assert' => [
        static fn () => assert_options(ASSERT_WARNING, 0),
        static fn () => assert_options(ASSERT_WARNING),
    ],
    'last_error' => [
        static fn () => @file_get_contents('/does/not/exist'),
        static fn () => error_get_last()['type'] ?? null,
    ],
    'headers' => [
        static function (): void {
            header('X-Extra: yes');
            http_response_code(206);
        },
        static fn () => [headers_list(), http_response_code()],
    ],
    'header_callback' => [
        static fn () => header_register_callback(static fn () => header('X-Callback: yes')),
        // Visible only in the header fields.
        static fn () => isset($_GET['change']),
    ],
    'output_buffer' => [
        static fn () => ob_start(static fn (string $text): string => $text),
        static fn () => ob_get_level(),
    ],
    'rewrite_var' => [
        static fn () => output_add_rewrite_var('extra', 'x'),
        // Visible only in the form after the response.
        static fn () => isset($_GET['change']),
    ],
    'stream_wrapper' => [
        static fn () => stream_wrapper_register('extra', OpensNothing::class),
        static fn () => in_array('extra', stream_get_wrappers(), true),
    ],
    'stream_wrapper_gone' => [
        static fn () => stream_wrapper_unregister('data'),
        static fn () => in_array('data', stream_get_wrappers(), true),
    ],
    'stream_filter' => [
        static fn () => stream_filter_register('extra', PassesAll::class),
        static fn () => in_array('extra', stream_get_filters(), true),
    ],
    'stream_context' => [
        static fn () => stream_context_set_default(['http' => ['user_agent' => 'x']]),
        static fn () => stream_context_get_options(stream_context_get_default()),
    ],
    'streams' => [
        // PHP stores the body in a separate stream.
        static fn () => file_get_contents('php://input'),
        static fn () => count(get_resources('stream')),
    ],
    'mbstring' => [
        static fn () => [mb_internal_encoding('ISO-8859-1'), mb_language('ja'), mb_substitute_character(65)],
        static fn () => [mb_internal_encoding(), mb_language(), mb_substitute_character()],
    ],
    'libxml' => [
        static function (): void {
            libxml_use_internal_errors(true);
            simplexml_load_string('<open>');
        },
        static function (): array {
            $before = libxml_use_internal_errors();
            return [$before, count(libxml_get_errors())];
        },
    ],
    'random' => [
        static fn () => mt_srand(5),
        // 1 if the numbers belong to the seed.
        static function (): bool {
            $seen = [mt_rand(), mt_rand()];
            mt_srand(5);
            $of_seed = [[mt_rand(), mt_rand()], [mt_rand(), mt_rand()]];
            return in_array($seen, $of_seed, true);
        },
    ],
    // PHP 8.3 and later warn if there is nothing to continue with.
    'strtok' => [static fn () => strtok('a b c', ' '), static fn () => @strtok(' ')],
    'shutdown' => [
        static fn () => register_shutdown_function(static fn () => print('[shutdown]')),
        // Visible only at the end of the response.
        static fn () => isset($_GET['change']),
    ],
    'tick' => [
        static fn () => register_tick_function(static fn () => header('X-Tick: yes')),
        static function (): bool {
            declare(ticks=1) {
                $passes = 1;
            }
            return in_array('X-Tick: yes', headers_list(), true);
        },
    ],
    'transaction' => [
        static function () use ($database): void {
            $database->beginTransaction();
            $database->exec('INSERT INTO t VALUES (1)');
        },
        static fn () => [
            $database->inTransaction(),
            (int) $database->query('SELECT count(*) FROM t')->fetchColumn(),
        ],
    ],
];

return static function () use ($state): void {
    [$change, $see] = $state[$_GET['what']];
    if (isset($_GET['change'])) {
        $change();
    }
    echo json_encode(['pid' => getmypid(), 'seen' => $see()]), '<form action=page.php></form>';
};
