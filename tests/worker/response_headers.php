<?php

declare(strict_types=1);

require_once __DIR__ . '/_executor.php';

return static function (): void {
    header('X-First: 1');
    header('X-Same: a', false);
    header('X-Same: b', false);
    header('Content-Type: text/plain');
    // PHP writes "Content-type" when it adds the charset.
    echo json_encode(array_change_key_case(apache_response_headers()));
};
