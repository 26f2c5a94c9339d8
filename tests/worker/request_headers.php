<?php

declare(strict_types=1);

require_once __DIR__ . '/_executor.php';

return static function (): void {
    echo json_encode([apache_request_headers(), getallheaders() === apache_request_headers()]);
};
