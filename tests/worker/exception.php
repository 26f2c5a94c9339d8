<?php

declare(strict_types=1);

require_once __DIR__ . '/_executor.php';

$count = 0;

return static function () use (&$count): void {
    header('X-Count: ' . ++$count);
    echo 'hello ';
    throw new RuntimeException('number ' . $_GET['i']);
};
