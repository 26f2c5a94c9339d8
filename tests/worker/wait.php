<?php

// Waits until the test lets it continue.

declare(strict_types=1);

require_once __DIR__ . '/_executor.php';

return static function (): void {
    if (isset($_GET['gate'])) {
        file_put_contents($_GET['gate'] . '.reached', 'x');
        fgetc(fopen($_GET['gate'] . '.open', 'rb'));
    }
    echo 'done';
};
