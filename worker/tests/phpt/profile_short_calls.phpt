--TEST--
A profile shows functions of C that return before the next sample is due, and the line of their caller
--FILE--
<?php
function digest(): string
{
    $sum = '';
    for ($i = 0; $i < 400_000; $i++) {
        $sum .= $i;
        $sum = hash('sha512', str_pad($sum, 4096, $sum));
    }
    return $sum;
}

echo strlen(digest());
--HOWDAH--
profile 1000
run
profiled
--EXPECT--
128
[profile: hash < digest:7 < {main}:12, 4 frames]
