<?php

// Uploads that were not moved are removed at the end of the request.
$note = ini_get('upload_tmp_dir') . '/upload-left';
if (isset($_FILES['file'])) {
    file_put_contents($note, $_FILES['file']['tmp_name']);
    echo is_file($_FILES['file']['tmp_name']) ? 'there' : 'missing';
} else {
    echo is_file(file_get_contents($note)) ? 'left behind' : 'removed';
    unlink($note);
}
