<?php

// 10 MiB that cannot be compressed. The same in each run.
$random = new Random\Randomizer(new Random\Engine\Mt19937(6));
file_put_contents('www/archive.zip', str_repeat($random->getBytes(1 << 20), 10));
