<?php

echo count(get_included_files());
include_once __DIR__ . '/included-one.php';
echo count(get_included_files());
