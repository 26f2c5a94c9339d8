<?php

declare(ticks=1);
$n = 0;
register_tick_function(function () use (&$n) {
    ++$n;
});
$a = 1;
$b = 2;
unregister_tick_function('none');
echo $n > 0 ? 'ticked' : 'no ticks';
