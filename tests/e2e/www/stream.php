<?php
require __DIR__ . '/push.inc';
// Prints numbered lines of a kilobyte each, and flushes after the requested number of lines.
$lines = (int) $_GET['lines'];
$every = (int) ($_GET['flush'] ?? 0);
for ($i = 0; $i < $lines; $i++) {
    echo str_pad((string) $i, 1023, '.'), "\n";
    if ($every > 0 && $i % $every === 0) {
        push();
    }
}
