<?php

final class Last
{
    public function __destruct()
    {
        echo 'destructor ';
        exit('leaves');
    }
}
$last = new Last();
echo 'main ';
