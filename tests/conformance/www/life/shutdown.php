<?php

register_shutdown_function(function (string $text) {
    echo $text, ' ';
    register_shutdown_function(fn () => print 'registered late ');
}, 'first');
register_shutdown_function(fn () => print 'second ');
echo 'main ';
