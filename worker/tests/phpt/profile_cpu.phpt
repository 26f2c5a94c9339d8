--TEST--
A profile counts processor time for the function that needs it, not for the one that waits afterwards
--FILE--
<?php
function burn(int $microseconds): int
{
    $sum = 1;
    for ($end = hrtime(true) + $microseconds * 1_000; hrtime(true) < $end;) {
        for ($i = 0; $i < 100; $i++) {
            $sum = ($sum * 31 + $i) % 1_000_003;
        }
    }
    return min($sum, 1);
}

function waits(int $microseconds): void
{
    usleep($microseconds);
}

for ($i = 0; $i < 200; $i++) {
    burn(1_300);
    waits(3_300);
}
echo 'done';
--HOWDAH--
profile 4000
run
profiled cpu
--EXPECTF--
done
[profile: burn:%d < {main}:%d < GET /test.php, 3 frames]
