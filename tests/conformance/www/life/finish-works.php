<?php

$note = ini_get('upload_tmp_dir') . '/finished';
if (isset($_GET['check'])) {
    echo file_get_contents($note);
    unlink($note);
    exit;
}
file_put_contents($note, 'before ');
echo 'answered';
fastcgi_finish_request();
file_put_contents($note, 'after ' . connection_status() . ' ' . strlen(file_get_contents('php://input')), FILE_APPEND);
