<?php
// Stores an upload at the path that the test sets, and prints whether PHP considers it an upload.
$file = $_FILES['file'];
$copy = $_GET['to'];
echo json_encode([
    'error' => $file['error'],
    'size' => $file['size'],
    'is_upload' => is_uploaded_file($file['tmp_name']),
    'is_upload_of_other' => is_uploaded_file(__FILE__),
    'moved' => move_uploaded_file($file['tmp_name'], $copy),
    'gone' => !file_exists($file['tmp_name']),
]);
