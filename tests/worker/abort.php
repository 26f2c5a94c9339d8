<?php

// Writes to a client that leaves; keeps what it saw in a file when it may go on.

declare(strict_types=1);

require_once __DIR__ . '/_executor.php';

return static function (): void {
    ignore_user_abort(true);
    file_put_contents($_GET['gate'] . '.reached', 'x');
    fgetc(fopen($_GET['gate'] . '.open', 'rb'));
    // A kilobyte at a time until the server has noticed; far more than any buffer between.
    for ($i = 0; $i < 100_000 && connection_status() === CONNECTION_NORMAL; $i++) {
        echo str_repeat('x', 1023), "\n";
        flush();
    }
    file_put_contents($_GET['to'], (string) connection_status());
    file_put_contents($_GET['gate'] . '.reached', 'x');
};
