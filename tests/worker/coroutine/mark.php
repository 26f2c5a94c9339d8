<?php

// State of each request, which the request sets first and checks after each step.

declare(strict_types=1);

final class Mark
{
    public static string $id = 'boot';
    public static array $list = [];

    /** State of a request: how it is set, and how it is read. */
    public static function all(): array
    {
        return [
            'static property' => [static fn ($id) => self::$id = $id, static fn () => self::$id],
            'static array' => [static fn ($id) => self::$list[] = $id, static fn () => implode(self::$list)],
            'static variable' => [self::variable(...), static fn () => self::variable()],
            'global' => [static fn ($id) => $GLOBALS['soak'] = $id, static fn () => $GLOBALS['soak'] ?? null],
            'ini' => [
                static fn ($id) => ini_set('user_agent', $id),
                static fn () => ini_get('user_agent'),
            ],
            'memory of libxml' => [
                static fn ($id) => libxml_use_internal_errors(strlen($id) % 2 === 1),
                static fn () => libxml_use_internal_errors(),
                static fn ($id) => strlen($id) % 2 === 1,
            ],
            'time zone' => [
                static fn ($id) => date_default_timezone_set(crc32($id) % 2 ? 'Asia/Tokyo' : 'America/Lima'),
                static fn () => date('T'),
                static fn ($id) => crc32($id) % 2 ? 'JST' : '-05',
            ],
            'random numbers' => [
                static fn ($id) => mt_srand(crc32($id)),
                null,
            ],
            'status' => [
                static fn ($id) => http_response_code(200 + crc32($id) % 4),
                static fn () => http_response_code(),
                static fn ($id) => 200 + crc32($id) % 4,
            ],
            'header' => [
                static fn ($id) => header("X-Id: $id"),
                static fn () => implode(preg_grep('/^X-Id: /', headers_list())),
                static fn ($id) => "X-Id: $id",
            ],
            'error handler' => [
                static fn ($id) => set_error_handler(static function () use ($id): bool {
                    self::$caught = $id;
                    return true;
                }),
                static function () {
                    trigger_error('soak', E_USER_NOTICE);
                    return self::$caught;
                },
            ],
            'superglobals' => [null, static fn () => $_GET['id']],
            'request' => [null, static fn () => $_SERVER['HTTP_X_ID']],
            'folder' => [
                static fn ($id) => chdir(crc32($id) % 2 ? '/usr' : '/etc'),
                static fn () => getcwd(),
                static fn ($id) => crc32($id) % 2 ? '/usr' : '/etc',
            ],
            'environment' => [
                static fn ($id) => putenv("SOAK_ID=$id"),
                static fn () => getenv('SOAK_ID'),
            ],
            'umask' => [
                static fn ($id) => umask(crc32($id) % 8),
                static fn () => umask(),
                static fn ($id) => crc32($id) % 8,
            ],
            'locale' => [
                static fn ($id) => setlocale(LC_CTYPE, crc32($id) % 2 ? 'C.UTF-8' : 'C'),
                static fn () => stripos((string) setlocale(LC_CTYPE, 0), 'utf') !== false,
                static fn ($id) => crc32($id) % 2 === 1,
            ],
            'encoding' => [
                static fn ($id) => mb_internal_encoding(crc32($id) % 2 ? 'UTF-8' : 'ISO-8859-15'),
                static fn () => mb_internal_encoding(),
                static fn ($id) => crc32($id) % 2 ? 'UTF-8' : 'ISO-8859-15',
            ],
            'autoloader' => [
                static fn ($id) => spl_autoload_register(static function (string $class) use ($id): void {
                    if ($class === 'NoSuchClass') {
                        self::$asked .= $id;
                    }
                }),
                static function () {
                    self::$asked = '';
                    class_exists('NoSuchClass');
                    return self::$asked;
                },
            ],
            'shutdown function' => [
                static fn ($id) => register_shutdown_function(static function () use ($id): void {
                    if ($_GET['id'] !== $id) {
                        echo " shutdown function of $id";
                    }
                }),
                null,
            ],
            'stream context' => [
                static fn ($id) => stream_context_set_default(['http' => ['user_agent' => $id]]),
                static fn () => stream_context_get_options(stream_context_get_default())['http']['user_agent'],
            ],
            'strtok' => [
                static fn ($id) => strtok("first $id", ' '),
                null,
            ],
        ];
    }

    private static string $caught = '';
    private static string $asked = '';

    private static function variable(?string $id = null): ?string
    {
        static $kept = null;
        return $id === null ? $kept : $kept = $id;
    }
}
