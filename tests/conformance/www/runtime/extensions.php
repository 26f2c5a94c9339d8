<?php

$lost = array_filter(['Core', 'date', 'json', 'pcre', 'session', 'SPL', 'standard', 'filter', 'hash', 'ctype', 'Zend OPcache'], fn ($name) => !extension_loaded($name));
echo $lost ? implode(' ', $lost) : 'all';
