--TEST--
A profile ends in the child of a fork, which has its own globals, and continues in the parent
--EXTENSIONS--
pcntl
--FILE--
<?php
function spin(int $milliseconds): int
{
    $sum = 1;
    for ($end = hrtime(true) + $milliseconds * 1_000_000; hrtime(true) < $end;) {
        for ($i = 0; $i < 1_000; $i++) {
            $sum = ($sum * 31 + $i) % 1_000_003;
        }
    }
    return min($sum, 1);
}

function child(int $depth): int
{
    return $depth > 0 ? child($depth - 1) + spin(1) : spin(200);
}

function parents(int $depth): int
{
    return $depth > 0 ? parents($depth - 1) : spin(300);
}

spin(100); // PHP's thread takes the samples by now
for ($i = 0; $i < 4; $i++) {
    $child = pcntl_fork();
    if ($child === 0) {
        exit(child(100) === 101 ? 7 : 1);
    }
    if (parents(50) !== 1) {
        echo 'the parent was disturbed';
    }
    pcntl_waitpid($child, $status);
    echo pcntl_wexitstatus($status), ' ';
}
--HOWDAH--
profile 1000
run
profiled
--EXPECTF--
7 7 7 7 
[profile: spin:%d < parents:%d < parents:%d, %d frames]
