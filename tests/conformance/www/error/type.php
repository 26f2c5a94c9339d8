<?php

declare(strict_types=1);
function f(int $n): int
{
    return $n;
}
try {
    f('1');
} catch (TypeError $error) {
    echo strtok($error->getMessage(), ',');
}
echo ' ', intdiv(1, 0);
