<?php

header_register_callback(function () {
    header('X-Callback: ran');
    exit;
});
echo 'body';
