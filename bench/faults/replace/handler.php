<?php

declare(strict_types=1);

// An application that takes 200 ms to boot and holds about 20 MiB then. Each answer says who gave it; `do` is a way to
// lose the worker, with `missing` behind an answer, which is a 404 then.
final class Application
{
    private const BOOT_MS = 200;
    /** @var list<array{number: int, name: string}> */
    private static array $objects = [];
    private static string $boot;
    private static float $bootMs;
    private static int $served = 0;

    public static function boot(): void
    {
        $begun = hrtime(true);
        for ($i = 0; $i < 50_000; ++$i) {
            self::$objects[] = ['number' => $i, 'name' => "object $i"];
        }
        self::$boot = bin2hex(random_bytes(8));
        do {
            self::$bootMs = (hrtime(true) - $begun) / 1e6;
        } while (self::$bootMs < self::BOOT_MS);
    }

    public static function handle(): void
    {
        $do = $_GET['do'] ?? '';
        if ($do === '') {
            self::answer();

            return;
        }
        if (isset($_GET['missing'])) {
            http_response_code(404);
            self::answer();
            if ($do === 'fatal') {
                // PHP throws away what is still in its buffer when memory_limit is reached.
                ob_end_flush();
            }
        }
        self::lose($do);
    }

    private static function answer(): void
    {
        header('Content-Type: application/json');
        echo json_encode(
            ['pid' => getmypid(), 'boot' => self::$boot, 'boot_ms' => self::$bootMs, 'served' => ++self::$served],
            JSON_THROW_ON_ERROR,
        );
    }

    private static function lose(string $way): void
    {
        switch ($way) {
            case 'exit':
                exit;
            case 'fatal':
                // Beyond any memory_limit, so that no time goes into coming near it.
                str_repeat('x', PHP_INT_MAX >> 8);
                // no break: the line above does not return
            case 'return':
                // What the block returns takes the place of the exit.
                try {
                    exit;
                } finally {
                    return;
                }
                // no break
            case 'throw':
                try {
                    self::throwInFinally();
                } catch (LogicException) {
                    // What a framework would answer with an error page.
                }
        }
    }

    private static function throwInFinally(): void
    {
        try {
            exit;
        } finally {
            throw new LogicException('in the place of the exit');
        }
    }
}

Application::boot();

return Application::handle(...);
