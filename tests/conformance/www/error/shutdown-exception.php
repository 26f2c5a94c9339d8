<?php

register_shutdown_function(fn () => throw new RuntimeException('late'));
register_shutdown_function(fn () => print 'never');
echo 'main ';
