<?php

// 50 KiB that look like a PDF: a little text, then bytes that cannot be compressed. The same in each run.
$random = new Random\Randomizer(new Random\Engine\Mt19937(1));
$objects = "%PDF-1.4\n1 0 obj <</Type /Catalog /Pages 2 0 R>> endobj\n";
file_put_contents('document.pdf', $objects.$random->getBytes(51200 - strlen($objects) - 6).'%%EOF'."\n");
