<?php

header_register_callback(function () {
    header('X-Callback: ' . http_response_code());
    header_remove('X-Removed');
    http_response_code(203);
});
header('X-Removed: no');
echo 'body';
