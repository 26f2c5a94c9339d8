<?php

header('Content-Type: application/pdf');
readfile(dirname(__DIR__).'/document.pdf');
