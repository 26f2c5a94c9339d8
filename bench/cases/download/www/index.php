<?php

header('Content-Type: application/octet-stream');
header('Content-Length: '.filesize(dirname(__DIR__).'/archive.bin'));
readfile(dirname(__DIR__).'/archive.bin');
