<?php

declare(strict_types=1);

require_once __DIR__ . '/_executor.php';

return static function (): void {
    header('X-One: bar');
    header('X-Two:bar2');
    header('X-Request: ' . ($_GET['i'] ?? ''));
    if (isset($_GET['more'])) {
        header('X-More: yes');
    }
    http_response_code(201);
    echo 'headers ', $_GET['i'] ?? '';
};
