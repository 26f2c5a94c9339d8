<?php

set_error_handler(function ($level, $message) {
    exit("handled: $message");
});
echo $undefined;
echo 'never';
