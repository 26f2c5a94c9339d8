<?php

// Numbers that differ for each request of all workers. The boot has already drawn some.

declare(strict_types=1);

require_once __DIR__ . '/_executor.php';

mt_rand();
lcg_value();
$randomizer = new Random\Randomizer();
$randomizer->getInt(0, PHP_INT_MAX);

return static function () use ($randomizer): void {
    echo json_encode([
        mt_rand(),
        lcg_value(),
        uniqid('', true),
        bin2hex(random_bytes(8)),
        $randomizer->getInt(0, PHP_INT_MAX),
        session_create_id(),
    ]);
};
