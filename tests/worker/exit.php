<?php

// exit() in places where other PHP code is running.

declare(strict_types=1);

require_once __DIR__ . '/ExitsWhenGone.inc';
require_once __DIR__ . '/_executor.php';

$count = 0;

return static function () use (&$count): void {
    header('X-Count: ' . ++$count);
    register_shutdown_function(static function (): void {
        echo '[shutdown]';
    });
    echo 'a';
    switch ($_GET['in'] ?? 'plain') {
        case 'plain':
            exit;
        case 'text':
            exit('text');
        case 'status':
            http_response_code(404);
            exit(1);
        case 'buffer':
            ob_start(static fn (string $text): string => strtoupper($text));
            echo 'b';
            ob_start();
            echo 'c';
            exit(3);
        case 'fiber':
            $fiber = new Fiber(static function (): never {
                echo 'b';
                exit;
            });
            $fiber->start();
            break;
        case 'finally':
            try {
                exit;
            } catch (Throwable) {
                echo 'caught';
            } finally {
                echo 'finally';
            }
        case 'destructor':
            $object = new ExitsWhenGone();
            unset($object);
            break;
        case 'generator':
            $generator = (static function () {
                yield 1;
                exit;
            })();
            foreach ($generator as $value) {
                echo $value;
            }
            break;
        case 'callback':
            $list = [2, 1];
            usort($list, static fn (): never => exit);
    }
    echo 'never';
};
