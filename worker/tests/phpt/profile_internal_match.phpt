--TEST--
A profile shows a pattern that backtracks without the JIT of PCRE, and the line of its caller
--INI--
pcre.jit=0
pcre.backtrack_limit=30000000
--FILE--
<?php
function backtrack(): bool
{
    $subject = str_repeat('a', 40);
    return preg_match('/^(?:a|aa)+$/', "$subject!", $match) === false;
}

var_dump(backtrack());
--HOWDAH--
profile 2000
run
profiled
--EXPECT--
bool(true)

[profile: preg_match < backtrack:5 < {main}:8, 4 frames]
