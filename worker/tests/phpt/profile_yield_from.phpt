--TEST--
A profile shows a generator and those that delegate to it, with their lines
--FILE--
<?php
function inner(): Generator
{
    for ($end = hrtime(true) + 400_000_000; hrtime(true) < $end;) {
        for ($i = 0, $sum = 1; $i < 10_000; $i++) {
            $sum = ($sum * 31 + $i) % 1_000_003;
        }
        yield $sum;
    }
}

function middle(): Generator
{
    yield 1;
    yield from inner();
}

function outer(): Generator
{
    yield from middle();
    yield 2;
}

foreach (outer() as $sum) {
}
echo 'done';
--HOWDAH--
profile 1000
run
profiled
--EXPECTF--
done
[profile: inner:%d < middle:15 < outer:20, 5 frames]
