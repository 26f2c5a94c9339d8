--TEST--
A profile survives stacks that are not whole: addresses of callers that are no frames
--INI--
extension={PROBE}
--FILE--
<?php
function broken(): void
{
    foreach ([-1, -8, -16, -80, -81, 1, 8, PHP_INT_MAX, PHP_INT_MIN, 0x7ffffffff000, 0x7fffffffffff] as $address) {
        howdah_probe_caller($address, 2_000);
    }
}

function spin(): int
{
    $sum = 1;
    for ($end = hrtime(true) + 3_000_000_000; hrtime(true) < $end;) {
        for ($i = 0; $i < 10_000; $i++) {
            $sum = ($sum * 31 + $i) % 1_000_003;
        }
    }
    return min($sum, 1);
}

broken();
echo spin();
--HOWDAH--
profile 1000
run
profiled
--EXPECTF--
1
[profile: spin:%d < {main}:%d < GET /test.php, 3 frames]
