<?php

// All values that a request sets.

declare(strict_types=1);

require_once __DIR__ . '/_executor.php';

return static function (): void {
    // $_SERVER stays an object in JSON, even if it contains floats.
    echo json_encode([
        'get' => (object) $_GET,
        'post' => (object) $_POST,
        'cookie' => (object) $_COOKIE,
        'files' => (object) $_FILES,
        'request' => (object) $_REQUEST,
        'server' => $_SERVER,
        'session' => isset($_SESSION),
    ]);
};
