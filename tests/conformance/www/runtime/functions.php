<?php

$lost = array_filter(['fastcgi_finish_request', 'getallheaders', 'apache_request_headers', 'header_register_callback', 'opcache_get_status', 'session_start'], fn ($name) => !function_exists($name));
echo $lost ? implode(' ', $lost) : 'all';
