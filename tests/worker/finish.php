<?php

// Continues after a finished response until the test lets it end, and then writes a word to a file.

declare(strict_types=1);

require_once __DIR__ . '/_executor.php';

return static function (): void {
    header('X-Before: yes');
    echo 'before';
    $first = fastcgi_finish_request();
    $second = fastcgi_finish_request();
    echo ' after';
    $input = file_get_contents('php://input');
    fgetc(fopen($_GET['gate'] . '.open', 'rb'));
    file_put_contents($_GET['to'], json_encode([$first, $second, connection_status(), $input]));
    file_put_contents($_GET['gate'] . '.reached', 'x');
};
