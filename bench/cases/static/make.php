<?php

// A page of 20 KiB. The same in each run.
$random = new Random\Randomizer(new Random\Engine\Mt19937(3));
$text = chunk_split(bin2hex($random->getBytes(10200)), 80, "\n");
file_put_contents('www/page.html', substr("<!DOCTYPE html>\n<title>Static</title>\n<pre>\n".$text, 0, 20480));
