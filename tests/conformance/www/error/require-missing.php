<?php

echo 'before ';
require __DIR__ . '/no-such-file.php';
echo 'never';
