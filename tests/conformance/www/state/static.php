<?php

final class Counter
{
    public static int $n = 0;
}
function n(): int
{
    static $n = 0;
    return ++$n;
}
echo ++Counter::$n, ' ', n(), ' ', isset($GLOBALS['left']) ? 'left' : 'clean';
$GLOBALS['left'] = true;
