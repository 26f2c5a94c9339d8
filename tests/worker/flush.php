<?php

// Two parts. The second is sent when the test allows it.

declare(strict_types=1);

require_once __DIR__ . '/_executor.php';

return static function (): void {
    echo 'He';
    while (ob_get_level() > 0) {
        ob_end_flush();
    }
    flush();
    fgetc(fopen($_GET['gate'] . '.open', 'rb'));
    echo 'llo ', $_GET['i'];
};
