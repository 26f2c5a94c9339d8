<?php

// Ten values of a cache in one round trip.
// In worker mode the connection of the first request serves the later ones as well.
$shared ??= new stdClass();
if (!isset($shared->cache)) {
    $cache = new Redis();
    $cache->connect((require __DIR__.'/services.php')['redis']);
    // Requests that run at the same time connect at the same time.
    $shared->cache ??= $cache;
}

return $shared->cache->mGet(array_map(static fn (int $i): string => "page:$i", range(1, 10)));
