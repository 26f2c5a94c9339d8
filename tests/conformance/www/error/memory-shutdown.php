<?php

register_shutdown_function(function () {
    $error = error_get_last();
    echo 'shutdown after: ', strstr($error['message'], ' exhausted') ? 'memory' : 'other';
});
ini_set('memory_limit', '4M');
$all = [];
while (true) {
    $all[] = str_repeat('x', 100_000);
}
