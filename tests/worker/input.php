<?php

// The raw body, read twice, and the form data.

declare(strict_types=1);

require_once __DIR__ . '/_executor.php';

return static function (): void {
    $first = file_get_contents('php://input');
    $second = stream_get_contents(fopen('php://input', 'rb'));
    echo json_encode([
        'size' => strlen($first),
        'hash' => hash('sha256', $first),
        'again' => $first === $second,
        'form' => array_map(static fn (mixed $v): int => strlen((string) $v), $_POST),
    ]);
};
