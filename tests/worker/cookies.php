<?php

declare(strict_types=1);

require_once __DIR__ . '/_executor.php';

return static function (): void {
    setcookie('n', (string) ((int) ($_COOKIE['n'] ?? 0) + 1), ['path' => '/', 'httponly' => true]);
    echo json_encode((object) $_COOKIE);
};
