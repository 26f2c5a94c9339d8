<?php
// Prints all that PHP knows about the request.
header('Content-Type: application/json');
$input = file_get_contents('php://input');
$files = [];
foreach ($_FILES as $field => $file) {
    $files[$field] = $file;
    foreach ((array) $file['tmp_name'] as $i => $name) {
        $files[$field]['md5'][$i] = $name === '' ? null : md5_file($name);
    }
}
echo json_encode([
    'get' => $_GET,
    'post' => $_POST,
    'cookie' => $_COOKIE,
    'request' => $_REQUEST,
    'files' => $files,
    'server' => $_SERVER,
    'env' => $_ENV,
    'input' => strlen($input) > 4096 ? null : $input,
    'input_size' => strlen($input),
    'input_md5' => md5($input),
    'headers' => getallheaders(),
    'pid' => getmypid(),
], JSON_PRETTY_PRINT | JSON_INVALID_UTF8_SUBSTITUTE);
