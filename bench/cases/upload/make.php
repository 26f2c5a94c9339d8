<?php

// A form with a file of 256 KiB. The same in each run.
$random = new Random\Randomizer(new Random\Engine\Mt19937(5));
file_put_contents('form.bin', "--bench\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\nseeded\r\n"
    ."--bench\r\nContent-Disposition: form-data; name=\"file\"; filename=\"photo.jpg\"\r\n"
    ."Content-Type: image/jpeg\r\n\r\n".$random->getBytes(256 << 10)."\r\n--bench--\r\n");
