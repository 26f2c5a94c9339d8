<?php

// A response without a body, flushed.

declare(strict_types=1);

require_once __DIR__ . '/_executor.php';

return static function (): void {
    http_response_code(204);
    header('X-Empty: yes');
    flush();
};
