<?php

// Ways in which a request ends; each is its last step.

declare(strict_types=1);

/** A singleton of the request, whose destructor prints. */
final class Late
{
    public static ?Late $page = null;

    public function __construct(private string $id)
    {
    }

    public function __destruct()
    {
        usleep(500);
        header("X-Late: $this->id");
        $_SESSION['late'] = $this->id;
        echo " destructor of $this->id";
    }
}

return static fn (): array => [
    'upload' => static function (string $id): void {
        need(($_POST['field'] ?? '') === $id, 'another form');
        usleep(1000);
        need(file_get_contents($_FILES['file']['tmp_name']) === str_repeat($id, 1000), 'another upload');
    },
    'exit' => static function (string $id): never {
        usleep(500);
        echo "ok $id";
        exit;
    },
    'throw' => static function (string $id): never {
        usleep(500);
        http_response_code(200); // for PHP to make 500 of it
        throw new RuntimeException('on purpose');
    },
    'late' => static function (string $id): void {
        session_id(md5("late {$_GET['client']}"));
        session_start(['use_cookies' => 0, 'cache_limiter' => '']);
        need(($_SESSION['late'] ?? '') === ($_SESSION['before'] ?? ''), 'what a destructor wrote to the session is lost');
        $_SESSION['before'] = $id;
        Late::$page = new Late($id);
        ob_start(static fn (string $text): string => "$text; sent");
        register_shutdown_function(static function (): void {
            echo ' shutdown,';
        });
    },
    'fatal' => static function (string $id): never {
        usleep(500);
        restore_error_handler();
        http_response_code(200);
        trigger_error('on purpose', E_USER_ERROR);
    },
    'exceed' => static function (): never {
        http_response_code(200);
        ini_set('memory_limit', '64M');
        for ($held = [];; usleep(20)) {
            $held[] = str_repeat('x', 1 << 20);
        }
    },
    'overflow' => static function (): never {
        http_response_code(200);
        $deeper = static function () use (&$deeper): void {
            array_map($deeper, [1]);
        };
        $deeper();
    },
    'crash' => static function (): never {
        usleep(500);
        posix_kill(getmypid(), SIGKILL);
        sleep(60);
    },
];
