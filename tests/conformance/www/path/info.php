<?php

foreach (['SCRIPT_NAME', 'PATH_INFO', 'PHP_SELF', 'REQUEST_URI', 'QUERY_STRING'] as $name) {
    echo $name, ' = ', $_SERVER[$name], "\n";
}
echo basename(__FILE__), ' ', $_SERVER['SCRIPT_FILENAME'] === __FILE__ ? 'same' : $_SERVER['SCRIPT_FILENAME'], "\n";
