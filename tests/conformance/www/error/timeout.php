<?php

ini_set('display_errors', 1);
set_time_limit(1);
register_shutdown_function(fn () => print 'shutdown');
echo 'before ';
while (true) {
}
