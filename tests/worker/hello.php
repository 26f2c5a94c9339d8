<?php

declare(strict_types=1);

require_once __DIR__ . '/_executor.php';

return static function (): void {
    echo 'hello ', $_GET['i'] ?? 'nobody';
};
