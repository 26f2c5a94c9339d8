<?php

set_exception_handler(function (Throwable $error) {
    http_response_code(503);
    echo get_class($error), ': ', $error->getMessage();
});
register_shutdown_function(fn () => print ' shutdown');
undefined_function();
