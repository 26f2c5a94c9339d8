<?php

$line = str_repeat('0123456789abcde', 68)."abc\n";
$lines = 1024 * (int) ($_GET['mib'] ?? 1);
for ($i = 0; $i < $lines; ++$i) {
    echo $line;
}
