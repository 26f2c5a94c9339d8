<?php

set_exception_handler(function (Throwable $error) {
    http_response_code(500);
    exit('handled: ' . $error->getMessage());
});
throw new RuntimeException('thrown');
