<?php

final class Last
{
    public function __construct(private string $name)
    {
    }
    public function __destruct()
    {
        echo $this->name, ' ';
    }
}
$a = new Last('a');
$b = new Last('b');
register_shutdown_function(fn () => print 'shutdown ');
exit('exit ');
