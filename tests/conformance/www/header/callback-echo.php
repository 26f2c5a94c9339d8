<?php

header_register_callback(function () {
    echo 'from the callback ';
});
echo 'body';
