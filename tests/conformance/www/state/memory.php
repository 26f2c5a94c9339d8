<?php

echo ini_get('memory_limit'), ' ', memory_get_peak_usage() < 8_000_000 ? 'fresh' : 'used';
ini_set('memory_limit', '64M');
$x = str_repeat('x', 16_000_000);
