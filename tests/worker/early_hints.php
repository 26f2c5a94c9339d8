<?php

// Sends hints, waits for the test, and responds.

declare(strict_types=1);

require_once __DIR__ . '/_executor.php';

return static function (): void {
    foreach (explode(',', $_GET['hints'] ?? '/style.css') as $path) {
        if ($path !== '') {
            header("Link: <$path>; rel=preload");
            headers_send((int) ($_GET['status'] ?? 103));
        }
    }
    header_remove('Link');
    if (isset($_GET['gate'])) {
        fgetc(fopen($_GET['gate'] . '.open', 'rb'));
    }
    header('X-Final: yes');
    echo 'hello';
};
