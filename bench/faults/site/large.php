<?php

$line = str_repeat('0123456789abcde', 68)."abc\n";
for ($i = 0; $i < 20 * 1024; ++$i) {
    echo $line;
}
