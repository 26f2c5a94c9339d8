<?php

echo PHP_SAPI === php_sapi_name() ? 'same' : 'different', ' ', PHP_SAPI === 'cli' ? 'cli' : 'web';
echo ' ', json_encode([defined('STDIN'), defined('STDOUT'), defined('STDERR'), isset($argv), isset($_SERVER['argv'])]);
