<?php

declare(strict_types=1);

// Runs a case's handler, which speaks superglobals, echo and header(), under servers that do not.
final class Adapter
{
    private readonly Closure $handler;
    /** @var array<string, mixed> what $_SERVER has outside requests */
    private readonly array $boot;
    /** @var array<string, list<string>> */
    private static array $headers = [];
    private static int $status = 200;

    public function __construct(private readonly string $docroot)
    {
        $this->boot = $_SERVER;
        $this->handler = require dirname(__DIR__).'/handler.php';
    }

    /**
     * Answers a request whose $_GET, $_POST, $_FILES and $_COOKIE are set.
     *
     * @param array<string, string|list<string>> $headers
     *
     * @return array{int, string, array<string, list<string>>} status, body, headers
     */
    public function answer(string $method, string $path, array $headers): array
    {
        $server = ['REQUEST_METHOD' => $method, 'REQUEST_URI' => $path] + $this->boot;
        foreach ($headers as $name => $value) {
            $server['HTTP_'.strtoupper(strtr($name, '-', '_'))] = is_array($value) ? implode(', ', $value) : $value;
        }
        $_SERVER = $server;
        // Named as in bench/harness/cases.py.
        if ($path === '/howdah-bench-probe.php') {
            return $this->run(fn () => require $this->docroot.$path);
        }

        return $this->run($this->handler);
    }

    /** @return array{int, string, array<string, list<string>>} */
    private function run(callable $handler): array
    {
        self::$headers = ['Content-Type' => ['text/html; charset=UTF-8']];
        self::$status = 200;
        ob_start();
        $handler();

        return [self::$status, (string) ob_get_clean(), self::$headers];
    }

    /** Takes what the handler gives to header(). */
    public static function header(string $line, bool $replace, int $status): void
    {
        if ($status !== 0) {
            self::$status = $status;
        }
        if (str_starts_with($line, 'HTTP/')) {
            self::$status = (int) explode(' ', $line, 3)[1];

            return;
        }
        [$name, $value] = explode(':', $line, 2);
        $name = ucwords(strtolower($name), '-');
        if ($replace) {
            self::$headers[$name] = [trim($value)];
        } else {
            self::$headers[$name][] = trim($value);
        }
    }
}

// The command line's PHP throws headers away. These servers start it with `disable_functions=header`, so that the
// function can be another one.
if (function_exists('header')) {
    throw new LogicException('start PHP with -d disable_functions=header');
} else {
    function header(string $header, bool $replace = true, int $response_code = 0): void
    {
        Adapter::header($header, $replace, $response_code);
    }
}
