<?php

include __DIR__ . '/no-such-file.php';
echo 'goes on';
