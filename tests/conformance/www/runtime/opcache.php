<?php

$status = opcache_get_status(false);
echo json_encode([$status['opcache_enabled'] ?? false, opcache_is_script_cached(__FILE__)]);
