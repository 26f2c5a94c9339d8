<?php

// Ten values of a cache in one round trip.
// In worker mode the connection of the first request serves the later ones as well.
if (!isset($GLOBALS['cache'])) {
    $GLOBALS['cache'] = new Redis();
    $GLOBALS['cache']->connect((require __DIR__.'/services.php')['redis']);
}

return $GLOBALS['cache']->mGet(array_map(static fn (int $i): string => "page:$i", range(1, 10)));
