<?php

// Output of the boot is not part of a response.

declare(strict_types=1);

require_once __DIR__ . '/_executor.php';

echo "the boot says hello\n";
header('X-Boot: yes');
http_response_code(418);

return static function (): void {
    echo 'only this';
};
