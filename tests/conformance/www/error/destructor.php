<?php

final class Last
{
    public function __destruct()
    {
        throw new RuntimeException('from the destructor');
    }
}
$last = new Last();
echo 'main ';
