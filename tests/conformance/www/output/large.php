<?php

// n bytes in which no two lines are equal.
$n = (int) ($_GET['n'] ?? 1_000_000);
for ($i = 0, $sent = 0; $sent < $n; ++$i) {
    $line = substr(str_pad((string) $i, 99, '.') . "\n", 0, $n - $sent);
    echo $line;
    $sent += strlen($line);
}
