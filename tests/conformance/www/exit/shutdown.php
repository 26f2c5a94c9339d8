<?php

register_shutdown_function(function () {
    echo 'one ';
    exit('two ');
});
register_shutdown_function(function () {
    echo 'never';
});
echo 'main ';
