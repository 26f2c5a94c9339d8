<?php

declare(strict_types=1);

// Runs a case's handler, which speaks superglobals, echo and header(), under servers that do not.
final class Adapter
{
    private readonly Closure $handler;

    public function __construct(private readonly string $docroot)
    {
        $this->handler = require dirname(__DIR__).'/handler.php';
    }

    /** @return array{int, string, array<string, list<string>>} status, body, headers */
    public function answer(string $path): array
    {
        // Named as in bench/harness/cases.py.
        if ($path === '/howdah-bench-probe.php') {
            return $this->run(fn () => require $this->docroot.$path);
        }

        return $this->run($this->handler);
    }

    /** @return array{int, string, array<string, list<string>>} */
    private function run(callable $handler): array
    {
        ob_start();
        $handler();
        $body = (string) ob_get_clean();
        $headers = ['Content-Type' => ['text/html; charset=UTF-8']];
        foreach (headers_list() as $line) {
            [$name, $value] = explode(':', $line, 2);
            if (!str_starts_with(strtolower($name), 'x-powered-by')) {
                $headers[ucwords(strtolower($name), '-')] = [trim($value)];
            }
        }
        header_remove();

        return [200, $body, $headers];
    }
}
