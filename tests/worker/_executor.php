<?php

// Runs the function that a script of this folder returns. The script requires this file once, and this file requires
// the script. The second time, the script continues after its first line.

declare(strict_types=1);

$handle = require $_SERVER['SCRIPT_FILENAME'];

if (($_SERVER['FRANKENPHP_WORKER'] ?? '') !== '1') {
    $handle();
    exit;
}

while (frankenphp_handle_request($handle)) {
    continue;
}
exit;
