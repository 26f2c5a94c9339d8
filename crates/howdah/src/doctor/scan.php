<?php

// Looks through an application for what several requests in one process would share or stumble over. Arguments: the
// application's folder and its worker script (or nothing). Writes one JSON object. Nothing of the application is run.

declare(strict_types=1);

const FILE_MAX = 2 << 20;
const FILES_MAX = 50000;
/** Code of others, and what was generated: judged by the name of the package, or not at all. */
const SKIPPED = ['vendor', 'node_modules', 'var', 'storage', 'cache', 'tests', 'test'];

/** Functions by the rule that they break, when they are called. */
const CALLS = [
    'pcntl_fork' => 'fork', 'pcntl_rfork' => 'fork', 'pcntl_unshare' => 'fork',
    'pcntl_wait' => 'wait-any-child', 'pcntl_waitpid' => 'wait-any-child',
    'pcntl_signal' => 'signals', 'pcntl_alarm' => 'signals', 'pcntl_sigprocmask' => 'signals',
    'pg_pconnect' => 'persistent', 'pfsockopen' => 'persistent', 'oci_pconnect' => 'persistent',
    'odbc_pconnect' => 'persistent', 'dba_popen' => 'persistent',
    'stream_select' => 'select', 'socket_select' => 'select',
    'mb_ereg_search_init' => 'search-position',
    'mysqli_report' => 'process-wide', 'textdomain' => 'process-wide', 'openlog' => 'process-wide',
    'snmp_set_valueretrieval' => 'process-wide', 'snmp_set_quick_print' => 'process-wide',
    'snmp_set_enum_print' => 'process-wide', 'snmp_set_oid_output_format' => 'process-wide',
    'snmp_set_oid_numeric_print' => 'process-wide', 'ldap_set_option' => 'process-wide',
    'libxml_get_last_error' => 'process-wide', 'register_tick_function' => 'process-wide',
    'dl' => 'process-rights', 'proc_nice' => 'process-rights', 'pcntl_setpriority' => 'process-rights',
    'cli_set_process_title' => 'process-rights', 'posix_setrlimit' => 'process-rights',
    'posix_setuid' => 'process-rights', 'posix_seteuid' => 'process-rights', 'posix_setgid' => 'process-rights',
    'posix_setegid' => 'process-rights', 'posix_initgroups' => 'process-rights', 'posix_setsid' => 'process-rights',
    'posix_getpwnam' => 'blocks', 'posix_getpwuid' => 'blocks', 'posix_getgrnam' => 'blocks',
    'posix_getgrgid' => 'blocks', 'syslog' => 'blocks',
    'password_hash' => 'computes', 'password_verify' => 'computes', 'sodium_crypto_pwhash' => 'computes',
    'similar_text' => 'computes', 'imagecopyresampled' => 'computes', 'imagescale' => 'computes',
    'imagecreatefromjpeg' => 'computes', 'imagecreatefrompng' => 'computes', 'imagecreatefromwebp' => 'computes',
    'imagecreatefromstring' => 'computes', 'imagerotate' => 'computes', 'imagefilter' => 'computes',
];

/** Variables that name lookups read, also those of other requests. */
const OF_RESOLVER = '/^.(?:HOSTALIASES|LOCALDOMAIN|RES_OPTIONS)=/';

/** Properties that are of one request, whatever class they are in. */
const OF_A_REQUEST = '/^\$?(?:current_?)?(?:request|response|user|identity|session|tenant|locale|route|controller)$/i';

/** Packages by the names in code, for applications that Composer did not install. */
const NAMESPACES = [
    'Illuminate\\Foundation\\' => 'laravel/framework', 'Laravel\\Octane\\' => 'laravel/framework',
    'Symfony\\Component\\HttpKernel\\' => 'symfony/framework-bundle',
    'Symfony\\Bundle\\FrameworkBundle\\' => 'symfony/framework-bundle',
    'CodeIgniter\\' => 'codeigniter4/framework', 'Slim\\' => 'slim/slim', 'Mezzio\\' => 'mezzio/mezzio',
    'Psr\\Http\\Server\\' => 'psr/http-server-handler', 'Cake\\' => 'cakephp/cakephp',
    'Nette\\Application\\' => 'nette/application', 'Drupal\\Core\\' => 'drupal/core', 'yii\\' => 'yiisoft/yii2',
];

/** Where the callback is given to the server. */
const LOOPS = ['frankenphp_handle_request', 'howdah_handle_request'];

final class Scan
{
    /** @var list<array{rule: string, file: string, line: int}> */
    public array $findings = [];
    public int $files = 0;
    public int $skipped = 0;
    public bool $perRequest = false;
    /** @var array<string, string> packages that the code names, with versions that are not known */
    public array $named = [];

    public function __construct(private readonly string $root)
    {
    }

    public function folder(): void
    {
        $filter = static fn(SplFileInfo $file, string $path, RecursiveDirectoryIterator $at): bool => $file->isDir()
            ? !$file->isLink() && $file->isReadable() && $file->getFilename()[0] !== '.'
                && !in_array(strtolower($file->getFilename()), SKIPPED, true)
            : in_array(strtolower($file->getExtension()), ['php', 'inc', 'module'], true);
        $folder = new RecursiveDirectoryIterator($this->root, FilesystemIterator::SKIP_DOTS);
        $paths = [];
        foreach (new RecursiveIteratorIterator(new RecursiveCallbackFilterIterator($folder, $filter)) as $file) {
            $paths[] = $file->getPathname();
        }
        sort($paths);
        $this->skipped += max(0, count($paths) - FILES_MAX);
        foreach (array_slice($paths, 0, FILES_MAX) as $path) {
            $this->file($path);
        }
    }

    public function file(string $path): void
    {
        $code = is_file($path) && filesize($path) <= FILE_MAX ? @file_get_contents($path) : false;
        if ($code === false) {
            $this->skipped++;
            return;
        }
        $this->files++;
        $name = str_starts_with($path, $this->root . '/') ? substr($path, strlen($this->root) + 1) : $path;
        $tokens = [];
        foreach (PhpToken::tokenize($code) as $token) {
            if (!$token->isIgnorable()) {
                $tokens[] = $token;
            }
        }
        $tokens[] = new PhpToken(T_INLINE_HTML, '');
        $this->tokens($tokens, $name);
    }

    /** @param non-empty-list<PhpToken> $tokens */
    private function tokens(array $tokens, string $file): void
    {
        $texts = array_map(static fn(PhpToken $token): string => ltrim($token->text, '\\'), $tokens);
        $isLoop = array_intersect(LOOPS, array_map('strtolower', $texts)) !== [];
        $depth = 0;
        /** @var list<array{name: string, depth: int}> $functions those around the token */
        $functions = [];
        $declared = null;
        $declaredLine = 0;
        $waits = new Waits();
        $positions = new Positions($isLoop);
        foreach ($tokens as $at => $token) {
            if ($functions === [] && $token->is([T_CLASS, T_TRAIT])) {
                $waits->endClass();
                $positions->endClass();
            }
            if ($token->is(T_USE) && $depth > 0 && self::usesLazyTrait($texts, $at)) {
                $this->findings[] = ['rule' => 'lazy-trait', 'file' => $file, 'line' => $token->line];
            }
            if ($token->is([T_NAME_QUALIFIED, T_NAME_FULLY_QUALIFIED])) {
                foreach (NAMESPACES as $prefix => $package) {
                    if (str_starts_with($texts[$at], $prefix)) {
                        $this->named[$package] = '';
                    }
                }
            }
            if ($token->is(['{', T_CURLY_OPEN, T_DOLLAR_OPEN_CURLY_BRACES])) {
                $depth++;
                if ($declared !== null && $token->is('{')) {
                    $functions[] = ['name' => $declared, 'depth' => $depth];
                    $waits->begin($declared, $declaredLine, $depth);
                    $declared = null;
                }
                continue;
            }
            if ($token->is('}')) {
                if (($functions[array_key_last($functions) ?? -1]['depth'] ?? null) === $depth) {
                    array_pop($functions);
                    $waits->end($depth);
                }
                $depth--;
                continue;
            }
            if ($token->is(';')) {
                $declared = null; // an abstract method
                continue;
            }
            if ($token->is(T_FUNCTION) && !$tokens[max(0, $at - 1)]->is(T_USE)) {
                $name = $texts[$at + 1] === '&' ? $at + 2 : $at + 1;
                $declared = $tokens[$name]->is('(') ? '{closure}' : strtolower($texts[$name]);
                $declaredLine = $token->line;
                continue;
            }
            $waits->token($tokens, $texts, $at);
            $inside = $functions[array_key_last($functions) ?? -1]['name'] ?? null;
            $positions->token($tokens, $texts, $at, $inside);
            $rule = $this->call($tokens, $texts, $at, $inside)
                ?? $this->write($tokens, $texts, $at, $inside, $isLoop)
                ?? $this->reference($tokens, $texts, $at, $declared, $isLoop);
            if ($rule !== null) {
                $this->findings[] = ['rule' => $rule, 'file' => $file, 'line' => $token->line];
            }
            $this->perRequest = $this->perRequest || $isLoop && $inside !== null && self::makes($tokens, $texts, $at);
        }
        $waits->endClass();
        $positions->endClass();
        foreach ([...$waits->findings, ...$positions->findings] as $finding) {
            $this->findings[] = [...$finding, 'file' => $file];
        }
    }

    /**
     * Whether a class takes a trait of Symfony's var-exporter, also under a name of its own that ends the same.
     *
     * @param list<string> $texts
     */
    private static function usesLazyTrait(array $texts, int $at): bool
    {
        for ($at++; isset($texts[$at]) && !in_array($texts[$at], [';', '{', '('], true); $at++) {
            if (preg_match('/Lazy(?:Ghost|Proxy)Trait$/i', $texts[$at]) === 1) {
                return true;
            }
        }
        return false;
    }

    /**
     * @param list<PhpToken> $tokens
     * @param list<string> $texts
     */
    private function call(array $tokens, array $texts, int $at, ?string $inside): ?string
    {
        if (!$tokens[$at]->is([T_STRING, T_NAME_FULLY_QUALIFIED])) {
            return null;
        }
        $name = strtolower($texts[$at]);
        $before = $tokens[max(0, $at - 1)];
        if ($before->is(T_DOUBLE_COLON)) {
            $class = strtolower($texts[max(0, $at - 2)]);
            return match (true) {
                $name === 'attr_persistent' => 'persistent',
                $class === 'ffi' && in_array($name, ['cdef', 'load', 'scope'], true) => 'ffi',
                default => null,
            };
        }
        if ($texts[$at + 1] !== '(' || $before->is([T_FUNCTION, T_NULLSAFE_OBJECT_OPERATOR])) {
            return null;
        }
        if ($before->is(T_OBJECT_OPERATOR)) {
            return $name === 'pconnect' ? 'persistent' : null;
        }
        if ($before->is(T_NEW)) {
            return $name === 'imagick' ? 'computes' : null;
        }
        if ($name === 'define') {
            return $inside === null ? null : 'constant';
        }
        if ($name === 'putenv') {
            return preg_match(OF_RESOLVER, $texts[$at + 2]) === 1 ? 'process-wide' : null;
        }
        if ($name === 'ldap_set_option' && strtolower($texts[$at + 2]) !== 'null') {
            return null; // of one connection
        }
        $rule = CALLS[$name] ?? null;
        // What concerns the process is fine while it boots.
        return in_array($rule, ['process-wide', 'process-rights', 'blocks'], true) && $inside === null ? null : $rule;
    }

    /**
     * Assignments of `$this->x` and `self::$x` outside of constructors.
     *
     * @param list<PhpToken> $tokens
     * @param list<string> $texts
     */
    private function write(array $tokens, array $texts, int $at, ?string $inside, bool $isLoop): ?string
    {
        if ($inside === null || $inside === '__construct' || ($texts[$at + 3] ?? '') !== '=') {
            return null;
        }
        if ($tokens[$at + 1]->is(T_DOUBLE_COLON) && $tokens[$at + 2]->is(T_VARIABLE)) {
            return 'static-write';
        }
        if (strtolower($texts[$at]) !== '$this' || !$tokens[$at + 1]->is(T_OBJECT_OPERATOR)) {
            return null;
        }
        $ofRequest = preg_match(OF_A_REQUEST, $texts[$at + 2]) === 1;
        // The method around the loop may write what it likes before it; the callback may not.
        return match (true) {
            $isLoop && ($ofRequest || $inside === '{closure}') => 'loop-property',
            $ofRequest => 'request-property',
            default => null,
        };
    }

    /**
     * `use (&$x)` of a closure in the script that has the loop.
     *
     * @param list<PhpToken> $tokens
     * @param list<string> $texts
     */
    private function reference(array $tokens, array $texts, int $at, ?string $declared, bool $isLoop): ?string
    {
        if (!$isLoop || $declared === null || !$tokens[$at]->is(T_USE)) {
            return null;
        }
        for ($next = $at + 1; isset($texts[$next]) && $texts[$next] !== ')'; $next++) {
            if ($texts[$next] === '&') {
                return 'reference';
            }
        }
        return null;
    }

    /**
     * Whether a framework's application is made here.
     *
     * @param list<PhpToken> $tokens
     * @param list<string> $texts
     */
    private static function makes(array $tokens, array $texts, int $at): bool
    {
        if ($tokens[$at]->is([T_NEW, T_CLONE])) {
            return preg_match('/(?:kernel|app|application)$/i', $texts[$at + 1] ?? '') === 1;
        }
        return $tokens[$at]->is(T_CONSTANT_ENCAPSED_STRING)
            && str_contains($texts[$at], 'bootstrap/app.php');
    }
}

/** @return array<string, string> names and versions of the application's packages, without those for development */
function packages(string $root): array
{
    $found = [];
    foreach (['composer.lock', 'vendor/composer/installed.json'] as $file) {
        $text = is_file("$root/$file") ? @file_get_contents("$root/$file") : false;
        $data = $text === false ? null : json_decode($text, true);
        foreach (is_array($data) ? $data['packages'] ?? [] : [] as $package) {
            if (is_string($package['name'] ?? null)) {
                $found[strtolower($package['name'])] ??= (string) ($package['version'] ?? '');
            }
        }
    }
    return $found;
}

$root = rtrim((string) realpath($argv[1]), '/');
$scan = new Scan($root);
$scan->folder();
$script = ($argv[2] ?? '') === '' ? false : realpath($argv[2]);
if ($script !== false && !str_starts_with($script, $root . '/')) {
    $scan->file($script);
}
echo json_encode([
    'files' => $scan->files,
    'skipped' => $scan->skipped,
    'per_request' => $scan->perRequest,
    'packages' => (object) (packages($root) + $scan->named),
    'wordpress' => is_file("$root/wp-includes/version.php") || is_file("$root/wp-settings.php"),
    'findings' => $scan->findings,
], JSON_THROW_ON_ERROR | JSON_INVALID_UTF8_SUBSTITUTE);
