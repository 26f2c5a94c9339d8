<?php

declare(strict_types=1);

require_once __DIR__ . '/_executor.php';

return static function (): void {
    $fiber = new Fiber(static function (): string {
        echo 'in ';
        $got = Fiber::suspend($_GET['i']);
        echo "back with $got ";
        return 'end';
    });
    $said = $fiber->start();
    echo "said $said ";
    $fiber->resume('word');
    echo $fiber->getReturn();
    // Another one stays suspended.
    (new Fiber(static fn () => Fiber::suspend()))->start();
};
