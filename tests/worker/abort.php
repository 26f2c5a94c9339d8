<?php

// Writes to a client that disconnects. Stores its observations in a file if it may continue.

declare(strict_types=1);

require_once __DIR__ . '/_executor.php';

return static function (): void {
    ignore_user_abort(true);
    file_put_contents($_GET['gate'] . '.reached', 'x');
    fgetc(fopen($_GET['gate'] . '.open', 'rb'));
    // A kilobyte at a time until the server has noticed, which is far more than any buffer in between.
    for ($i = 0; $i < 100_000 && connection_status() === CONNECTION_NORMAL; $i++) {
        echo str_repeat('x', 1023), "\n";
        flush();
    }
    file_put_contents($_GET['to'], (string) connection_status());
    file_put_contents($_GET['gate'] . '.reached', 'x');
};
