<?php

// getenv() also returns variables of a web server, except the dangerous one.
var_export([
    getenv('REQUEST_METHOD'),
    getenv('HTTP_X_OWN'),
    getenv('HTTP_PROXY'),
    getenv('HOWDAH_NO_SUCH_VARIABLE'),
    getenv('REQUEST_METHOD', true),
    array_key_exists('QUERY_STRING', getenv()),
]);
