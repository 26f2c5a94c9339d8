<?php

// Stores an upload, and prints whether PHP considers a file an upload.

declare(strict_types=1);

require_once __DIR__ . '/_executor.php';

return static function (): void {
    if (isset($_GET['is'])) {
        echo json_encode([is_uploaded_file($_GET['is']), file_exists($_GET['is'])]);
        return;
    }
    $file = $_FILES['file'];
    echo json_encode([
        'name' => $file['name'],
        'error' => $file['error'],
        'text' => file_get_contents($file['tmp_name']),
        'is' => is_uploaded_file($file['tmp_name']),
        'path' => $file['tmp_name'],
        'field' => $_POST['field'] ?? null,
    ]);
};
