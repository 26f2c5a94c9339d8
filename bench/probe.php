<?php

// Says under which conditions this peer runs PHP, so that the harness can compare them.
$opcache = function_exists('opcache_get_status') ? opcache_get_status(false) : false;
$extensions = get_loaded_extensions();
sort($extensions, SORT_STRING | SORT_FLAG_CASE);
$ini = [];
foreach (array_filter(explode(',', $_GET['ini'] ?? '')) as $name) {
    $ini[$name] = ini_get($name);
}

header('Content-Type: application/json');
echo json_encode([
    'php' => PHP_VERSION,
    'zts' => (bool) PHP_ZTS,
    'sapi' => PHP_SAPI,
    'opcache' => (bool) ($opcache['opcache_enabled'] ?? false),
    'jit' => (bool) ($opcache['jit']['on'] ?? false),
    'extensions' => $extensions,
    'ini_files' => [php_ini_loaded_file(), php_ini_scanned_files()],
    'ini' => $ini,
], JSON_THROW_ON_ERROR);
