<?php

$stream = fopen('php://input', 'r');
$parts = [];
while (!feof($stream)) {
    $parts[] = strlen(fread($stream, 1000));
}
rewind($stream);
echo array_sum($parts), ' ', bin2hex(fread($stream, 3)), ' ', fseek($stream, 5), ' ', ftell($stream), ' ', bin2hex(fread($stream, 2));
