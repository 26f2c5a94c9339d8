<?php
require __DIR__ . '/push.inc';
// Numbered lines of a kilobyte each, pushed out every so many.
$lines = (int) $_GET['lines'];
$every = (int) ($_GET['flush'] ?? 0);
for ($i = 0; $i < $lines; $i++) {
    echo str_pad((string) $i, 1023, '.'), "\n";
    if ($every > 0 && $i % $every === 0) {
        push();
    }
}
