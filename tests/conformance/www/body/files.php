<?php

$describe = function ($value) use (&$describe) {
    return is_array($value) ? array_map($describe, $value) : $value;
};
$files = $_FILES;
array_walk_recursive($files, function (&$value, $key) {
    if (is_string($value) && str_contains($value, '/php')) {
        $value = is_uploaded_file($value) ? 'uploaded ' . md5_file($value) : 'not uploaded';
    }
});
var_export([$files, $_POST]);
echo "\n", strlen(file_get_contents('php://input'));
