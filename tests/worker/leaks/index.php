<?php

// An application with a leak on each page.

declare(strict_types=1);

final class Cart
{
    public static array $items = [];
    private static ?string $user = null;

    public static function login(string $name): void
    {
        self::$user = $name;
    }
}

final class Logger
{
    public array $lines = [];
}

final class Allowed
{
    #[\Howdah\AllowLeak]
    public static int $hits = 0;
    public static int $misses = 0;
}

$logger = new Logger();
$handler = static function () use ($logger): void {
    switch (parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH)) {
        case '/cart':
            Cart::$items[] = 'book';
            break;
        case '/log':
            $logger->lines[] = $_SERVER['REQUEST_URI'];
            break;
        case '/login':
            Cart::login($_GET['name']);
            break;
        case '/allowed':
            Allowed::$hits++;
            Allowed::$misses++;
            break;
        case '/zone':
            date_default_timezone_set('Asia/Tokyo');
            break;
    }
    echo getmypid();
};
while (frankenphp_handle_request($handler)) {
}
