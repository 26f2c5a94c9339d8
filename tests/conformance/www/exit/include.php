<?php

echo 'a ';
include __DIR__ . '/text.php';
echo 'never';
