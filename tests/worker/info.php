<?php

declare(strict_types=1);

require_once __DIR__ . '/_executor.php';

return static function (): void {
    phpinfo(INFO_GENERAL | INFO_VARIABLES);
    echo PHP_SAPI;
};
