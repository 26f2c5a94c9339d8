<?php

header('Content-Type: text/plain');
echo readfile(__DIR__ . '/data.txt'), ' ';
$file = fopen(__DIR__ . '/data.txt', 'r');
fseek($file, 5);
echo fpassthru($file);
