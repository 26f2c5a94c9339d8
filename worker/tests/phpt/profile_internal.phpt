--TEST--
A profile shows a function that computes in C, and the line of its caller
--FILE--
<?php
function derive(): string
{
    $salt = 'salt';
    return hash_pbkdf2('sha256', 'password', $salt, 1_500_000);
}

echo strlen(derive());
--HOWDAH--
profile 2000
run
profiled
--EXPECT--
64
[profile: hash_pbkdf2 < derive:5 < {main}:8, 4 frames]
