<?php

// The pages of two other cases in one request.
$parts = [];
foreach (['redis', 'database'] as $part) {
    ob_start();
    require dirname(__DIR__)."/$part/www/index.php";
    $parts[] = ob_get_clean();
}
echo '['.implode(',', $parts).']';
