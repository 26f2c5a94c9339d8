<?php

register_shutdown_function(function () {
    $error = error_get_last();
    echo json_encode([$error['type'], strtok($error['message'], "\n"), basename($error['file']), $error['line']]);
});
ini_set('display_errors', 0);
undefined_function();
