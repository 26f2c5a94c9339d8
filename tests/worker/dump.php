<?php

// The same steps as dd() of frameworks: a status, output in a destructor, exit.

declare(strict_types=1);

require_once __DIR__ . '/Dumper.inc';
require_once __DIR__ . '/_executor.php';

return static function (): void {
    $dumper = new Dumper('dumped ' . $_GET['i']);
    exit(1);
};
