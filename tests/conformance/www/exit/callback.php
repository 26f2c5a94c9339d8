<?php

ob_start(function (string $buffer) {
    return "[$buffer]";
});
echo 'x';
array_map(function ($n) {
    if ($n === 2) {
        exit('two');
    }
    echo $n;
}, [1, 2, 3]);
