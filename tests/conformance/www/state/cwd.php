<?php

echo getcwd() === __DIR__ ? 'script directory ' : getcwd() . ' ';
chdir('/');
echo getcwd(), ' ';
register_shutdown_function(fn () => print getcwd());
