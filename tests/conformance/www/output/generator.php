<?php

function lines(): Generator
{
    for ($i = 1; $i <= 3; ++$i) {
        $sent = yield "line $i";
        echo $sent ?? 'nothing', ';';
    }
    return 'done';
}
$lines = lines();
foreach ($lines as $line) {
    echo $line, "\n";
    flush();
}
echo $lines->getReturn();
