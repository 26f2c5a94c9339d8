<?php

// Variables on which nginx's fastcgi_params and all CGI servers agree. Ports and software always differ.
$names = ['GATEWAY_INTERFACE', 'SERVER_PROTOCOL', 'SERVER_NAME', 'SERVER_ADDR', 'SERVER_PORT', 'REQUEST_METHOD',
    'REQUEST_URI', 'REQUEST_SCHEME', 'QUERY_STRING', 'DOCUMENT_ROOT', 'SCRIPT_FILENAME', 'SCRIPT_NAME',
    'PHP_SELF', 'PATH_INFO', 'REMOTE_ADDR', 'CONTENT_TYPE', 'CONTENT_LENGTH', 'REDIRECT_STATUS', 'HTTP_HOST'];
foreach ($names as $name) {
    echo $name, ' = ', var_export($_SERVER[$name] ?? null, true), "\n";
}
foreach (['SERVER_SOFTWARE', 'REMOTE_PORT', 'REMOTE_USER'] as $name) {
    echo $name, ' is a ', gettype($_SERVER[$name] ?? null), "\n";
}
