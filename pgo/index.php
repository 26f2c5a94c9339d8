<?php

declare(strict_types=1);

// A short page, a long one with ?lines=N, or the length of the request body.

if ($_SERVER['REQUEST_METHOD'] === 'POST') {
    echo strlen((string) file_get_contents('php://input'));
    return;
}
header('Content-Type: text/html; charset=utf-8');
header('Cache-Control: no-cache');
setcookie('seen', '1');
for ($line = (int) ($_GET['lines'] ?? 1); $line > 0; $line--) {
    echo "<p>$line of a page that was asked for as {$_SERVER['REQUEST_URI']}</p>\n";
}
