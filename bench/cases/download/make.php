<?php

// 16 MiB that cannot be compressed. The same in each run.
$random = new Random\Randomizer(new Random\Engine\Mt19937(4));
file_put_contents('archive.bin', str_repeat($random->getBytes(1 << 20), 16));
