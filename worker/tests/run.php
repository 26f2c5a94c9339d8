<?php
/*
 * Runs PHPT files through a worker: php run.php [--jobs=N] DRIVER HOWDAH_PHP FILE-OR-DIRECTORY...
 *
 * N processes run tests at the same time. By default it is one, since tests that share a database need it for
 * themselves.
 *
 * Sections: TEST, SKIPIF (PHP code run by `howdah-php cli`; prints "skip" to skip), EXTENSIONS (loaded for the test if
 * PHP's configuration does not load them; without their files it is skipped), INI, GET, POST,
 * POST_RAW (first lines "Content-Type: …", an empty line, the body), COOKIE, HEADERS, VARS (NAME=VALUE
 * lines for $_SERVER), FILE, "FILE name" (further files in the document root), USES (files beside the test that are
 * copied there), HOWDAH (lines for the driver, after the defaults; without one: `run`), CLI (arguments: the script is run by `howdah-php cli`
 * instead), EXPECTHEADERS, and EXPECT, EXPECTF or EXPECTREGEX.
 *
 * In INI, VARS, HOWDAH and expectations {ROOT} stands for the document root, a fresh directory; {PROBE} for the
 * extension of probe.c.
 */

declare(strict_types=1);

final class Skipped extends Exception
{
}

final class Phpt
{
    /** @var array<string, string> */
    private array $sections = [];
    private string $root;
    private string $spool;
    /** @var list<string> to be loaded */
    private array $extensions = [];
    /** @var array<string, string> output of SKIPIF sections and lookups of extensions, by their code */
    private static array $outputs = [];

    public function __construct(private readonly string $file, private readonly string $driver, private readonly string $php)
    {
        $section = null;
        foreach (file($file) as $line) {
            if (preg_match('/^--([A-Z_]+(?: \S+)?)--\s*$/', $line, $match)) {
                $section = $match[1];
                $this->sections[$section] = '';
            } elseif ($section === null) {
                throw new RuntimeException("$file: text before the first section");
            } else {
                $this->sections[$section] .= $line;
            }
        }
    }

    public function name(): string
    {
        return trim($this->sections['TEST'] ?? basename($this->file));
    }

    /** What is wrong, or null. */
    public function run(): ?string
    {
        $base = sys_get_temp_dir() . '/howdah-phpt-' . getmypid();
        $this->root = "$base/www";
        $this->spool = "$base/spool";
        mkdir($this->root, 0755, true);
        mkdir($this->spool);
        try {
            return $this->runIn();
        } finally {
            self::remove($base);
        }
    }

    private function runIn(): ?string
    {
        $this->writeFiles();
        $this->findExtensions();
        if (isset($this->sections['SKIPIF'])) {
            $output = $this->evaluate($this->sections['SKIPIF']);
            if (str_starts_with($output, 'skip')) {
                throw new Skipped($output);
            }
        }
        if (isset($this->sections['CLI'])) {
            $command = $this->php . ' cli ' . trim($this->expand($this->sections['CLI']));
            [$output, $errors, $status] = self::execute(['/bin/sh', '-c', "cd '$this->root' && $command"], $this->sections['STDIN'] ?? '');
            return $this->compare(rtrim($output) . ($status ? "\n[exit $status]" : ''), $errors);
        }
        [$output, $errors, $status] = self::execute([$this->driver, $this->php, $this->spool], $this->specification());
        if ($status !== 0) {
            return "the driver ended with status $status\n$errors\n" . substr($output, -2000);
        }
        return $this->compare($output, $errors);
    }

    private function findExtensions(): void
    {
        foreach ($this->lines('EXTENSIONS') as $name) {
            $code = "<?php echo extension_loaded('$name') ? 'loaded' : (is_file(ini_get('extension_dir') . '/$name.so') ? 'file' : '');";
            $output = $this->evaluate($code);
            if ($output === '') {
                throw new Skipped("skip there is no extension $name");
            }
            if ($output === 'file') {
                $this->extensions[] = "extension=$name.so";
            }
        }
    }

    /** The output of code that depends on the installation only: many tests have the same. */
    private function evaluate(string $code): string
    {
        if (!isset(self::$outputs[$code])) {
            file_put_contents("$this->root/evaluated.php", $code);
            [self::$outputs[$code]] = self::execute([$this->php, 'cli', "$this->root/evaluated.php"], '');
            unlink("$this->root/evaluated.php");
        }
        return self::$outputs[$code];
    }

    private function writeFiles(): void
    {
        file_put_contents("$this->root/test.php", $this->sections['FILE'] ?? '');
        foreach ($this->lines('USES') as $name) {
            copy(dirname($this->file) . "/$name", "$this->root/$name");
        }
        foreach ($this->sections as $section => $text) {
            if (str_starts_with($section, 'FILE ')) {
                $path = "$this->root/" . substr($section, 5);
                @mkdir(dirname($path), 0755, true);
                file_put_contents($path, $this->expand($text));
            }
        }
    }

    private function specification(): string
    {
        $lines = [];
        $ini = ['display_errors=1', 'html_errors=0', 'log_errors=0', 'error_reporting=-1', 'expose_php=0', 'date.timezone=UTC'];
        $ini[] = 'fatal_error_backtraces=0'; // as before PHP 8.5
        // OPcache neither caches nor optimizes the files of a test, however late a busy machine starts PHP.
        $ini[] = 'opcache.file_update_protection=3600';
        foreach ([...$ini, ...$this->extensions, ...$this->lines('INI')] as $directive) {
            $lines[] = 'arg -d';
            $lines[] = 'arg ' . self::encode($directive);
        }
        foreach ($this->variables() as $name => $value) {
            $lines[] = "var $name " . self::encode((string) $value);
        }
        if (($body = $this->body()) !== null) {
            file_put_contents("$this->root/request.body", $body[1]);
            $lines[] = "body inline $this->root/request.body";
        }
        if (isset($this->sections['EXPECTHEADERS'])) {
            $lines[] = 'show headers';
        }
        return implode("\n", [...$lines, ...($this->lines('HOWDAH') ?: ['run'])]) . "\n";
    }

    /** @return array<string, string|int> */
    private function variables(): array
    {
        $query = trim($this->sections['GET'] ?? '');
        $body = $this->body();
        $variables = [
            'GATEWAY_INTERFACE' => 'CGI/1.1',
            'SERVER_SOFTWARE' => 'howdah-test',
            'SERVER_PROTOCOL' => 'HTTP/1.1',
            'SERVER_NAME' => 'localhost',
            'SERVER_PORT' => '80',
            'REMOTE_ADDR' => '127.0.0.1',
            'REQUEST_METHOD' => $body === null ? 'GET' : 'POST',
            'REQUEST_URI' => '/test.php' . ($query === '' ? '' : "?$query"),
            'QUERY_STRING' => $query,
            'DOCUMENT_ROOT' => $this->root,
            'SCRIPT_FILENAME' => "$this->root/test.php",
            'SCRIPT_NAME' => '/test.php',
            'PHP_SELF' => '/test.php',
            'HTTP_HOST' => 'localhost',
        ];
        if ($body !== null) {
            $variables['CONTENT_TYPE'] = $body[0];
            $variables['CONTENT_LENGTH'] = strlen($body[1]);
        }
        if (isset($this->sections['COOKIE'])) {
            $variables['HTTP_COOKIE'] = trim($this->sections['COOKIE']);
        }
        foreach ($this->lines('HEADERS') as $line) {
            [$name, $value] = explode(':', $line, 2);
            $variables['HTTP_' . strtoupper(strtr($name, '-', '_'))] = trim($value);
        }
        foreach ($this->lines('VARS') as $line) {
            [$name, $value] = explode('=', $line, 2);
            $variables[$name] = $value;
        }
        return $variables;
    }

    /** @return array{string, string}|null content type and bytes */
    private function body(): ?array
    {
        if (isset($this->sections['POST'])) {
            return ['application/x-www-form-urlencoded', trim($this->sections['POST'])];
        }
        if (!isset($this->sections['POST_RAW'])) {
            return null;
        }
        [$head, $bytes] = explode("\n\n", $this->sections['POST_RAW'], 2);
        $bytes = substr($bytes, 0, -1);
        if (str_contains($head, 'multipart/')) {
            $bytes = str_replace("\n", "\r\n", $bytes);
        }
        return [trim(substr($head, strlen('Content-Type:'))), $bytes];
    }

    private function compare(string $output, string $errors): ?string
    {
        $output = str_replace("\r\n", "\n", $output);
        if (isset($this->sections['EXPECTHEADERS'])) {
            [$head, $output] = explode("\n\n", $output, 2) + [1 => ''];
            foreach ($this->lines('EXPECTHEADERS') as $header) {
                $absent = str_starts_with($header, '!');
                if (in_array(ltrim($header, '!'), explode("\n", $head), true) === $absent) {
                    return "header \"$header\" is not as expected in\n$head";
                }
            }
        }
        $output = trim(str_replace($this->root, '{ROOT}', $output));
        foreach (['EXPECT', 'EXPECTF', 'EXPECTREGEX'] as $kind) {
            if (!isset($this->sections[$kind])) {
                continue;
            }
            $expected = trim($this->sections[$kind]);
            $same = $kind === 'EXPECT' ? $output === $expected
                : preg_match('~^' . ($kind === 'EXPECTF' ? self::pattern($expected) : $expected) . '$~sD', $output) === 1;
            return $same ? null : "--- expected\n$expected\n--- got\n" . substr($output, 0, 4000) . "\n--- errors\n$errors";
        }
        throw new RuntimeException("$this->file expects nothing");
    }

    private static function pattern(string $format): string
    {
        return strtr(preg_quote($format, '~'), [
            '%s' => '[^\n]+', '%S' => '[^\n]*', '%a' => '.+', '%A' => '.*', '%d' => '\d+',
            '%i' => '[+-]?\d+', '%f' => '[+-]?\d*\.?\d+', '%x' => '[0-9a-fA-F]+', '%w' => '\s*', '%c' => '.',
        ]);
    }

    /** @return list<string> */
    private function lines(string $section): array
    {
        return array_values(array_filter(explode("\n", $this->expand($this->sections[$section] ?? '')), static fn ($line) => $line !== ''));
    }

    private function expand(string $text): string
    {
        $probe = dirname($this->driver) . '/probe.so';
        return str_replace(['{ROOT}', '{PHP}', '{PROBE}'], [$this->root, $this->php, $probe], $text);
    }

    private static function encode(string $value): string
    {
        return preg_replace_callback('/[%\x00-\x1f]/', static fn ($byte) => sprintf('%%%02x', ord($byte[0])), $value);
    }

    /** @return array{string, string, int} output, errors, status */
    private static function execute(array $command, string $input): array
    {
        $files = [tmpfile(), tmpfile(), tmpfile()];
        fwrite($files[0], $input);
        rewind($files[0]);
        $process = proc_open($command, $files, $pipes);
        $status = proc_close($process);
        rewind($files[1]);
        rewind($files[2]);
        return [stream_get_contents($files[1]), stream_get_contents($files[2]), $status];
    }

    private static function remove(string $path): void
    {
        if (is_dir($path) && !is_link($path)) {
            chmod($path, 0755);
            foreach (array_diff(scandir($path), ['.', '..']) as $name) {
                self::remove("$path/$name");
            }
            rmdir($path);
        } else {
            unlink($path);
        }
    }
}

/** PASS, or FAIL or SKIP and what is to be shown. */
function result(string $file, string $driver, string $php): string
{
    $test = new Phpt($file, $driver, $php);
    try {
        $wrong = $test->run();
        return $wrong === null ? 'PASS' : 'FAIL ' . basename($file) . ' ' . $test->name() . "\n$wrong\n\n";
    } catch (Skipped $reason) {
        return 'SKIP ' . basename($file) . ' ' . trim($reason->getMessage()) . "\n";
    }
}

/** The results in the order of the files, from several processes, each of which takes the next file that none has. */
function parallel(int $jobs, array $files, string $driver, string $php): Generator
{
    $folder = sys_get_temp_dir() . '/howdah-phpt-results-' . getmypid();
    mkdir($folder);
    for ($job = 0; $job < $jobs; $job++) {
        if (pcntl_fork() === 0) {
            foreach ($files as $number => $file) {
                if ($taken = @fopen("$folder/$number", 'x')) {
                    fwrite($taken, result($file, $driver, $php));
                }
            }
            exit(0);
        }
    }
    while (pcntl_wait($status) > 0) {
    }
    foreach ($files as $number => $file) {
        yield (string) @file_get_contents("$folder/$number") ?: 'FAIL ' . basename($file) . " has no result\n";
        @unlink("$folder/$number");
    }
    rmdir($folder);
}

function main(array $arguments): int
{
    $jobs = 1;
    if (preg_match('/^--jobs=(\d+)$/', $arguments[1] ?? '', $match)) {
        $jobs = (int) $match[1];
        array_splice($arguments, 1, 1);
    }
    [, $driver, $php] = $arguments;
    $files = [];
    foreach (array_slice($arguments, 3) as $path) {
        array_push($files, ...(is_dir($path) ? glob("$path/*.phpt") : [$path]));
    }
    $results = $jobs > 1
        ? parallel($jobs, $files, $driver, $php)
        : (static function () use ($files, $driver, $php): Generator {
            foreach ($files as $file) {
                yield result($file, $driver, $php);
            }
        })();
    $counts = ['PASS' => 0, 'FAIL' => 0, 'SKIP' => 0];
    foreach ($results as $result) {
        $kind = substr($result, 0, 4);
        $counts[$kind]++;
        echo $kind === 'PASS' ? '' : $result;
    }
    echo "{$counts['PASS']} passed, {$counts['FAIL']} failed, {$counts['SKIP']} skipped\n";
    return $files === [] || $counts['FAIL'] ? 1 : 0;
}

exit(main($argv));
