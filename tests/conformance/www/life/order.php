<?php

final class Last
{
    public function __destruct()
    {
        echo 'destructor ';
    }
}
$last = new Last();
ob_start(fn ($buffer) => "($buffer)");
register_shutdown_function(fn () => print 'shutdown ');
header_register_callback(fn () => header('X-Order: callback'));
echo 'main ';
