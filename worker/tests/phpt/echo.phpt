--TEST--
Pieces of output of any size reach their buffers in order, whatever these do
--INI--
output_buffering=0
--FILE--
<?php
// Each piece once, through so many buffers at a time, past the size that makes one grow.
function pieces(): string
{
    $all = '';
    foreach ([0, 1, 7, 100, 4095, 4096, 4097, 16383, 16384, 16385, 70000] as $size) {
        foreach (['a', 'b', 'c'] as $letter) {
            $piece = str_repeat($letter, $size);
            echo $piece;
            print '';
            $all .= $piece;
        }
    }
    return $all;
}

foreach ([1, 2, 3, 20] as $depth) {
    for ($i = 0; $i < $depth; $i++) {
        ob_start();
    }
    $all = pieces();
    $got = ob_get_contents();
    for ($i = 0; $i < $depth; $i++) {
        ob_end_clean();
    }
    echo $depth, ' ', $got === $all ? 'same' : 'different', "\n";
}

// A callback gets its chunk as soon as there is as much, and never sees a piece twice.
foreach ([1, 2, 10, 4096, 4097] as $chunk) {
    $sizes = [];
    $seen = '';
    ob_start(function (string $text) use (&$sizes, &$seen): string {
        $sizes[] = strlen($text);
        $seen .= $text;
        return '';
    }, $chunk);
    for ($i = 0, $all = ''; $i < 3000; $i++) {
        echo $piece = "$i,";
        $all .= $piece;
    }
    ob_end_clean();
    echo $chunk, ' ', $seen === $all ? 'same' : 'different', ' ', implode(' ', array_slice($sizes, 0, 6)), "\n";
}

// A callback that fails is passed by from then on.
ob_start(fn (): bool => false, 4);
echo 'on', 'e ', 'two ', 'th', 'ree ';
ob_end_flush();
echo json_encode(ob_get_status()), "\n";

// What a callback writes itself is lost, as is what is cleaned.
ob_start(function (string $text): string {
    echo 'lost';
    return strtoupper($text);
});
echo 'kept ';
ob_flush();
echo 'gone';
ob_clean();
echo 'kept too';
ob_end_flush();
echo "\n";

// Lengths and levels as PHP counts them.
ob_start();
echo 'ab';
ob_start();
echo 'cde';
$inner = [ob_get_level(), ob_get_length()];
ob_end_flush();
$outer = [ob_get_level(), ob_get_length()];
ob_end_flush();
echo ' ', json_encode([$inner, $outer]), "\n";
ob_start();
printf('%s', 'printf ');
echo 'echo ';
?>
inline
<?php
fwrite(fopen('php://output', 'w'), 'stream ');
echo 'echo';
$text = ob_get_clean();
echo json_encode($text), "\n";
--EXPECT--
1 same
2 same
3 same
20 same
1 same 2 2 2 2 2 2
2 same 2 2 2 2 2 2
10 same 10 10 12 12 12 12
4096 same 4100 4100 4100 1590
4097 same 4100 4100 4100 1590
one two three []
KEPT KEPT TOO
abcde [[2,3],[1,5]]
"printf echo inline\nstream echo"
