<?php

ob_start();
phpinfo();
$text = ob_get_clean();
$lost = [];
foreach (['PHP Version', 'Server API', 'Loaded Configuration File', 'PHP Variables', 'Core', 'session', 'standard', 'REQUEST_METHOD', 'visible', 'Zend OPcache', '<!DOCTYPE html'] as $part) {
    if (!str_contains($text, $part)) {
        $lost[] = $part;
    }
}
echo $lost ? 'lost: ' . implode(', ', $lost) : 'complete';
