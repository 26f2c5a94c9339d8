<?php

// 50 KiB of text that compresses badly. The same in each run.
$random = new Random\Randomizer(new Random\Engine\Mt19937(2));
file_put_contents('random.txt', substr(chunk_split(base64_encode($random->getBytes(38400)), 76, "\n"), 0, 51200));
