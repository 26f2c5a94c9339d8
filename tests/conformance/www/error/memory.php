<?php

echo 'before ';
ini_set('memory_limit', '4M');
$all = str_repeat('x', 8_000_000);
echo 'never';
