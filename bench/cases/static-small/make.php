<?php

// An icon of 1 KiB, random behind its first bytes. The same in each run.
$random = new Random\Randomizer(new Random\Engine\Mt19937(5));
file_put_contents('www/icon.png', "\x89PNG\r\n\x1a\n".$random->getBytes(1016));
