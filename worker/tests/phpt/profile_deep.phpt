--TEST--
A profile has stacks of 200 frames, and the line of a loop that calls nothing
--FILE--
<?php
function deep(int $depth): int
{
    return $depth > 0 ? 1 + deep($depth - 1) : spin();
}

function spin(): int
{
    $sum = 1;
    for ($i = 0; $i < 30_000_000; $i++) {
        $sum = ($sum * 31 + $i) % 1_000_003;
    }
    return min($sum, 1); // OPcache would remove a sum that is never read
}

echo deep(200);
--HOWDAH--
profile 2000
run
profiled
--EXPECT--
201
[profile: spin:11 < deep:4 < deep:4, 204 frames]
