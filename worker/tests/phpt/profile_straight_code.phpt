--TEST--
A profile counts code without loops for its own function, not for the one that is called next
--FILE--
<?php
function straight(string $text): string
{
    $long = $text . $text . $text . $text;
    $long = $long . $long . $long . $long;
    $long = "$long$long$long$long";
    return short($long);
}

function short(string $text): string
{
    return $text;
}

$text = str_repeat('x', 20_000);
$size = 0;
for ($i = 0; $i < 12_000; $i++) {
    $size += strlen(straight($text));
}
echo $size;
--HOWDAH--
profile 1000
run
profiled
--EXPECTF--
15360000000
[profile: straight:%d < {main}:18 < GET /test.php, 3 frames]
